import BenchmarkHarness
import FerryBase
import TestSupport
import Testing

@Suite("The table of shapes")
struct ShapeTableTests {
    /// Returns a copied shape within all limits.
    private static func shape(_ name: String, _ change: (inout ShapeResult) -> Void = { _ in }) -> ShapeResult {
        var result = ShapeResult(
            name: name, mode: "copy", objects: 100_000, storeBytes: 10 << 20, memoryLimit: 32 << 20)
        result.seconds = 5
        result.peakBytes = 24 << 20
        (result.verificationSeconds, result.otherSeconds) = (1, 4)
        (result.readBytes, result.writtenBytes) = (50 << 20, 30 << 20)
        result.said = .init(seconds: 6, diskBytes: 30_000_000)
        result.came = .init(seconds: 5, diskBytes: 28_000_000)
        result.timeAfterTenth = 1.2
        change(&result)
        return result
    }

    @Test("The worst shape is first: the one furthest beyond a limit, or nearest to it")
    func order() {
        let table = ShapeTable([
            Self.shape("even"), Self.shape("slow check") { $0.verificationSeconds = 16 },
            Self.shape("large") { $0.peakBytes = 40 << 20 }, Self.shape("failed") { $0.failure = "ended with 1" },
        ])
        #expect(table.results.map(\.name) == ["failed", "slow check", "large", "even"])
    }

    @Test("Each column has its median, and its worst figure with the shape's name")
    func summary() throws {
        let table = ShapeTable([
            Self.shape("even"), Self.shape("large") { $0.peakBytes = 40 << 20 },
            Self.shape("small") { $0.peakBytes = 20 << 20 },
        ])
        let peak = try #require(table.summary(.peak))
        #expect(peak == .init(median: Double(24 << 20), worst: "large", worstText: "40.0 MiB", isMet: false))
        #expect(try #require(table.summary(.verification)).isMet)
        #expect(table.summary(.growth) == nil)
        #expect(!table.columns.contains(.growth))
    }

    @Test("Rounds amount to the median of each figure, and to the highest peak")
    func rounds() {
        let rounds = [(24, 1.0), (31, 2.0), (25, 9.0)].map { peak, seconds in
            Self.shape("even") { ($0.peakBytes, $0.verificationSeconds) = (peak << 20, seconds) }
        }
        let summary = ShapeResult.summary(of: rounds)
        #expect(summary.peakBytes == 31 << 20)
        #expect(summary.typicalPeakBytes == 25 << 20)
        #expect(summary.verificationSeconds == 2)
        #expect(summary.came == rounds[0].came)
        let failed = Self.shape("even") { $0.failure = "ended with 1" }
        #expect(ShapeResult.summary(of: rounds + [failed]) == failed)
    }

    @Test("An estimate is wrong in both directions")
    func estimates() {
        let long = Self.shape("long") { $0.came.seconds = 14.6 }
        let short = Self.shape("short") { $0.came.diskBytes = 12_000_000 }
        #expect(ShapeColumn.time.misses(long))
        #expect(ShapeColumn.disk.misses(short))
        #expect(!ShapeColumn.time.misses(short))
        #expect(ShapeColumn.time.text(long) == "6.00 s / 14.60 s")
    }

    @Test("Small figures are not judged: fixed costs and noise")
    func small() {
        let quick = Self.shape("quick") {
            ($0.verificationSeconds, $0.otherSeconds, $0.seconds) = (0.1, 0.1, 0.2)
            ($0.said.seconds, $0.came.seconds) = (0.001, 0.9)
        }
        #expect(!ShapeColumn.verification.misses(quick))
        #expect(!ShapeColumn.time.misses(quick))
        #expect(ShapeTable([quick]).misses().isEmpty)
    }

    @Test("A miss names shape, column and figure; the median has a limit of its own")
    func misses() {
        let table = ShapeTable([
            Self.shape("one") { $0.verificationSeconds = 2 }, Self.shape("two") { $0.verificationSeconds = 2.2 },
            Self.shape("three") { ($0.verificationSeconds, $0.peakBytes) = (3, 33 << 20) },
        ])
        #expect(
            table.misses(in: [.peak, .verification]) == [
                "three: peak 33.0 MiB", "three: verification / rest 0.75",
                "median of all shapes: verification / rest 0.55",
            ])
        #expect(table.misses(in: [.peak]) == ["three: peak 33.0 MiB"])
        #expect(table.misses(isSmall: true) == ["three: peak 33.0 MiB"])
    }

    @Test("A shape that is to be refused has its peak, and says the message")
    func refused() {
        let table = ShapeTable([
            Self.shape("even"),
            Self.shape("utf-16") {
                ($0.refusal, $0.mode, $0.verificationSeconds) = ("It is in UTF-16.", "refused", 90)
            },
        ])
        #expect(table.misses().isEmpty)
        #expect(ShapeColumn.verification.value(of: table.results[1]) == nil)
        #expect(table.lines.contains("  utf-16: It is in UTF-16."))
    }

    @Test("The table takes the place of an earlier one in its page, and leaves the rest")
    func page() {
        let (one, other) = (ShapeTable([Self.shape("one")]), ShapeTable([Self.shape("other")]))
        let first = ShapePage(one).text(in: "# Figures\n\nAbove.\n") + "\nBelow.\n"
        let second = ShapePage(other).text(in: first)
        #expect(first.contains("| `one` |"))
        #expect(second == first.replacing("`one`", with: "`other`").replacing("(one)", with: "(other)"))
        #expect(second.hasPrefix("# Figures\n\nAbove.\n") && second.hasSuffix("\nBelow.\n"))
    }
}

@Suite("Measured programs")
struct MeasuredRunTests {
    @Test("The estimate that was most wrong after the first tenth counts; other lines are messages")
    func progress() throws {
        let log = ProgressLog(
            """
            0.100 {"phase":"rows","secondsLeft":90}
            2.000 {"phase":"rows","secondsLeft":null}
            3.000 {"phase":"rows","secondsLeft":3}
            8.000 {"phase":"verify","secondsLeft":3}
            8.100 warning: something
            """)
        #expect(log.estimates.count == 3)
        #expect(log.messages == ["warning: something"])
        #expect(try #require(log.timeAfterTenth(of: 10)) == 0.6)
        #expect(log.timeAfterTenth(of: 1_000) == nil)
    }

    @Test("A program's exit code, output, errors and files in a folder are measured")
    func measures() throws {
        let folder = try TemporaryFolder()
        let watched = folder.file("watched")
        try FileLayer().createDirectory(watched)
        // A hard link takes no space.
        let script =
            "head -c 1000000 /dev/zero > \(watched)/file; ln \(watched)/file \(watched)/link; echo out; echo err >&2; sleep 0.2; exit 3"
        let run = try MeasuredRun.of(
            ["/bin/sh", "-c", script], output: folder.file("out"), errors: folder.file("err"), folder: watched)
        #expect(run.code == 3)
        #expect(run.seconds >= 0.2)
        #expect(run.peakBytes > 0)
        #expect(run.folderBytes >= 1_000_000 && run.folderBytes < 1_500_000)
        #expect(try FileLayer().read(folder.file("out")) == Array("out\n".utf8))
        let errors = String(decoding: try FileLayer().read(folder.file("err")), as: UTF8.self)
        #expect(errors.hasSuffix(" err\n"))
        #expect(Double(errors.prefix { $0 != " " }) != nil)
    }

    @Test("A program that takes too long is killed")
    func late() throws {
        let folder = try TemporaryFolder()
        let run = try MeasuredRun.of(
            ["/bin/sh", "-c", "exec sleep 600"], output: folder.file("out"), errors: folder.file("err"),
            folder: folder.path, limit: 0.1)
        #expect(run.code == nil)
        #expect(run.seconds < 300)
    }

    @Test("A program that does not exist is an error")
    func missing() throws {
        let folder = try TemporaryFolder()
        #expect(throws: FerryError.self) {
            try MeasuredRun.of(
                ["/nowhere/program"], output: folder.file("out"), errors: folder.file("err"), folder: folder.path)
        }
    }
}
