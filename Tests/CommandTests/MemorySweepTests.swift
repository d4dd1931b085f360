internal import Foundation
internal import TestSupport
internal import Testing

/// The peak of the released program against its limit, with snapshot and full verification.
///
/// Runs only with `FERRY_SWEEP=1` and `FERRY_RELEASED` naming a program built with `-c release --static-swift-stdlib`:
/// the debug build alone needs more than the limits.
@Suite("The peak of memory")
struct MemorySweepTests {
    @Test(
        "The peak stays within the limit in place and copied, with a tenth of the keys or all keys distinct",
        .enabled(if: Sweep.isFull && Sweep.released != nil, "FERRY_SWEEP=1 and FERRY_RELEASED=PROGRAM measure it"),
        arguments: [24, 32, 48, 64], [10_000, 100_000])
    func staysWithinLimit(_ mebibytes: Int64, _ authors: Int) throws {
        let program = try #require(Sweep.released)
        let folder = try TemporaryFolder()
        let library = ProgramTests.Library(folder: folder.path)
        let made = try FerryBinary.run(
            ["demo", library.path, "--books", "100000", "--authors", "\(authors)", "--prepare"], in: folder.path,
            program: program)
        try #require(made.exitCode == 0, "\(made.diagnostics)")
        let inPlace = ["--models", library.models, "--no-mappings", "--to", "Library2"]
        for words in [inPlace, library.sources] {
            let outcome = try FerryBinary.run(
                ["migrate", library.store, "--memory-limit", "\(mebibytes)MiB", "--json"] + words, in: folder.path,
                program: program)
            #expect(outcome.exitCode == 0, "\(outcome.diagnostics)")
            struct Measured: Decodable { var peakResidentBytes: Int64 }
            let peak = try JSONDecoder().decode(Measured.self, from: Data(outcome.output.utf8)).peakResidentBytes
            #expect(peak <= mebibytes << 20, "\(words): \(Double(peak) / 1_048_576) MiB")
        }
    }
}
