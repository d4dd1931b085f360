import Foundation
import Testing

@Suite("Code of one platform")
struct PlatformCodeTests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// Returns the conditions of a file that select other code than imports.
    static func findings(in text: String) -> [String] {
        var found: [String] = []
        // The open conditions; nil for a condition without a platform.
        var open: [String?] = []
        for line in text.split(separator: "\n").map({ $0.trimmingCharacters(in: .whitespaces) }) {
            if line.hasPrefix("#if ") || line.hasPrefix("#elseif ") {
                if line.hasPrefix("#elseif ") { open.removeLast() }
                let words = ["os(", "canImport(", "arch(", "targetEnvironment("]
                open.append(words.contains { line.contains($0) } ? line : nil)
            } else if line.hasPrefix("#endif") {
                open.removeLast()
            } else if !line.hasPrefix("#"), !line.isEmpty, !line.hasPrefix("//"),
                let condition = open.last(where: { $0 != nil }),
                !line.contains("import ")
            {
                if found.last != condition { found.append(condition ?? "") }
            }
        }
        return found
    }

    @Test("Is in files for that platform, or in C")
    func sources() throws {
        let sources = Self.root.appendingPathComponent("Sources")
        let names = try #require(FileManager.default.enumerator(atPath: sources.path)).compactMap { $0 as? String }
        let files = names.filter { $0.hasSuffix(".swift") }
        #expect(files.count > 100)
        for name in files where !name.hasSuffix("+Linux.swift") && !name.hasSuffix("+Darwin.swift") {
            let text = try String(contentsOf: sources.appendingPathComponent(name), encoding: .utf8)
            #expect(Self.findings(in: text).isEmpty, "\(name)")
        }
    }

    @Test("Is found in other files, and imports do not count")
    func finds() {
        #expect(Self.findings(in: "#if os(Linux)\n    let a = 1\n#endif") == ["#if os(Linux)"])
        #expect(Self.findings(in: "#if canImport(Glibc)\n#else\nlet a = 1\n#endif") == ["#if canImport(Glibc)"])
        #expect(Self.findings(in: "#if canImport(Glibc)\ninternal import Glibc\n#else\nimport Darwin\n#endif").isEmpty)
        #expect(Self.findings(in: "#if Zstandard\nlet a = 1\n#endif").isEmpty)
    }
}
