internal import Foundation
internal import Testing

@testable internal import FerryCommand

/// Wrong command lines, with their messages as a user sees them.
@Suite("Messages")
struct MessageTests {
    private static let wrong = [
        "", "migrat App.sqlite", "--verison", "frobnicate", "snapshot", "snapshot crate App.sqlite", "migrate",
        "migrate App.sqlite", "migrate App.sqlite --models", "migrate App.sqlite --models M --chunk-size 0",
        "migrate App.sqlite --models M --chunk-size many",
        "migrate App.sqlite --models M --executor row", "rollback App.sqlite --no-snapshot",
        "migrate App.sqlite --models M --chunk-time 5", "migrate App.sqlite --models M --memory-limit 10B",
        "migrate App.sqlite --models M --verify half",
        "migrate App.sqlite --models M --progress loud",
        "migrate App.sqlite --models M --budget soon", "migrate App.sqlite --models M --hold-swop",
        "migrate App.sqlite --models M --snapshot none --snapshot-dir D",
        "plan A.sqlite B.sqlite --models M", "help frobnicate",
        "snapshot restore App.sqlite", "lint A B", "generate Model.xcdatamodeld",
        "verify A.sqlite --sample 1%", "verify A.sqlite --models M --source B.sqlite --sample 200%",
        "verify A.sqlite --source B.sqlite", "verify A.sqlite --mappings M",
        "generate Model.xcdatamodeld --rows ten --output New.sqlite",
        "generate Model.xcdatamodeld --rows 10 --rows-of Book --output New.sqlite", "demo --books none",
        "migrate A.sqlite --models M --memory-limit lots",
        "migrate A.sqlite --models M --memory-limit 16MiB",
    ]

    @Test("Wrong command lines exit with 64 and name a remedy")
    func tellsUsage() throws {
        var text = ""
        for line in Self.wrong {
            let captured = Captured.run(line.split(separator: " ").map(String.init))
            #expect(captured.exitCode == .usage, "ferry \(line)")
            #expect(captured.output.isEmpty, "ferry \(line)")
            text += "$ ferry \(line)\n\(captured.diagnostics)\n"
        }
        try Golden.expect(text, is: "wrong-command-lines")
    }

    @Test("With --json a wrong command line is one object with an error", arguments: wrong)
    func tellsUsageAsJSON(_ line: String) throws {
        let captured = Captured.run(line.split(separator: " ").map(String.init) + ["--json"], isJSON: true)
        #expect(captured.exitCode == .usage)
        let failure = try JSONDecoder().decode(Failure.self, from: Data(captured.output.utf8))
        #expect(failure.ferry == 1)
        #expect(failure.error.code == "usage")
        #expect(!failure.error.message.isEmpty && !failure.error.remedy.isEmpty)
    }

    struct Failure: Decodable {
        struct Told: Decodable { var code, message, remedy: String }
        var ferry: Int
        var error: Told
    }
}
