internal import FerryBase
internal import FerrySQLite
internal import Foundation
internal import TestSupport
internal import Testing

/// `plan` and `migrate` with options for the chain, on the demo's library.
@Suite("The chain on the command line")
struct ChainCommandTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        try ProgramTests.Library(folder: folder.path).prepare(books: 20)
    }

    private var input: [String] {
        ["library/Library.sqlite", "--models", "library/Library.xcdatamodeld", "--mappings", "library/Mappings"]
    }

    private func write(_ text: String, to file: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: folder.file(file)))
    }

    /// Returns the plan's text without the parts that depend on the machine.
    private func text(_ outcome: FerryBinary.Outcome) -> String {
        outcome.output.split(separator: "\n", omittingEmptySubsequences: false)
            .filter { line in !["Store ", "Disk ", "Time ", "Longest "].contains { line.hasPrefix($0) } }
            .joined(separator: "\n")
    }

    @Test("The plan explains the chain, each step's mode and each entity mapping's executor")
    func explains() throws {
        let plan = try FerryBinary.run(["plan"] + input, in: folder.path)
        #expect(plan.exitCode == 0, "\(plan.diagnostics)")
        try Golden.expect(text(plan), is: "plan-chain")
        let json = try FerryBinary.run(["plan"] + input + ["--json"], in: folder.path)
        struct Plan: Decodable {
            struct Link: Decodable { var from, to, reason: String; var inferred: Bool }
            struct Step: Decodable { var mode, reason: String }
            var links: [Link]
            var steps: [Step]
            var notes: [String]
            struct Loss: Decodable { var entity, property: String; var values: Int? }
            var losses: [Loss]
        }
        let decoded = try JSONDecoder().decode(Plan.self, from: Data(json.output.utf8))
        #expect(!decoded.links.isEmpty && decoded.links.allSatisfy { !$0.reason.isEmpty })
        #expect(decoded.steps.allSatisfy { !$0.reason.isEmpty } && !decoded.notes.isEmpty)
        let losses = decoded.losses.map { "\($0.entity).\($0.property) \($0.values.map(String.init) ?? "?")" }
        #expect(losses == ["Book.shelf 20", "Book.fileURL 20"])
    }

    @Test(
        "A chain is read from lines or from JSON",
        arguments: ["# from\nLibrary1\n\n  Library2  \n", #"["Library1", "Library2"]"#])
    func reads(file: String) throws {
        try write(file, to: "Chain.txt")
        let plan = try FerryBinary.run(["plan"] + input + ["--chain", "Chain.txt"], in: folder.path)
        #expect(plan.exitCode == 0, "\(plan.diagnostics)")
        #expect(plan.output.contains("Chain    Library1 → Library2\n"))
        #expect(plan.output.contains("chosen; "))
    }

    @Test("An impossible chain, and a file that is no chain, are refused with a remedy")
    func refuses() throws {
        var told: [String] = []
        for (file, text) in [("Chain.txt", "Library2\n"), ("Empty.txt", "# nothing\n"), ("Odd.json", "[1, 2]")] {
            try write(text, to: file)
            let outcome = try FerryBinary.run(
                ["migrate", "--accept-loss"] + input + ["--chain", file], in: folder.path)
            told.append("\(file): \(outcome.exitCode)\n\(outcome.diagnostics)")
        }
        let missing = try FerryBinary.run(["migrate"] + input + ["--chain", "none.txt"], in: folder.path)
        told.append("none.txt: \(missing.exitCode)\n\(missing.diagnostics)")
        try Golden.expect(told.joined(separator: "\n"), is: "chain-refusals")
    }

    @Test("A downgrade is refused until it is allowed, and the losses come first")
    func back() throws {
        let there = try FerryBinary.run(["migrate", "--accept-loss"] + input + ["--to", "Library3"], in: folder.path)
        #expect(there.exitCode == 0, "\(there.diagnostics)")
        let models = ["library/Library.sqlite", "--models", "library/Library.xcdatamodeld", "--to", "Library2"]
        let refused = try FerryBinary.run(["plan"] + models, in: folder.path)
        #expect(refused.exitCode == 2 && refused.output.contains("--allow-downgrade"))
        let plan = try FerryBinary.run(["plan"] + models + ["--allow-downgrade"], in: folder.path)
        try Golden.expect(text(plan), is: "plan-downgrade")
    }
}
