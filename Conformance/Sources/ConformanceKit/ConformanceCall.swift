import Foundation

/// One call of the program: its cases, and the path of `ferry`.
public struct ConformanceCall: Sendable, Hashable {
    public static let usage = """
        conformance --ferry PATH --cases FILE [--only NAME] [--ferry-half]
        """

    public var ferry = ""
    public var cases = ""
    public var only: String?
    /// Leaves out all steps that need Core Data.
    public var isFerryHalf = false

    /// - Throws: ``ConformanceError`` for unknown words.
    public init(_ words: [String]) throws {
        var words = words[...]
        func value(_ word: String) throws -> String {
            guard let next = words.popFirst() else { throw ConformanceError("\(word) needs a value. \(Self.usage)") }
            return next
        }
        while let word = words.popFirst() {
            switch word {
            case "--ferry": ferry = try value(word)
            case "--cases": cases = try value(word)
            case "--only": only = try value(word)
            case "--ferry-half": isFerryHalf = true
            default: throw ConformanceError("\(word) is not known. \(Self.usage)")
            }
        }
        if ferry.isEmpty || cases.isEmpty { throw ConformanceError(Self.usage) }
    }

    /// Runs the cases, and reports each one.
    ///
    /// - Parameters:
    ///   - coreData: Makes the framework's side, with a folder of its own; returns nil on a system without Core Data.
    ///   - tell: Receives lines for people.
    /// - Returns: 0 when all cases hold, 1 otherwise.
    /// - Throws: ``ConformanceError`` when there is no case or no program to run.
    public func run(coreData: (URL) -> (any CoreDataSide)?, tell: (String) -> Void) throws -> Int32 {
        let cases = try ConformanceCase.load(URL(fileURLWithPath: self.cases)).filter { only == nil || $0.name == only }
        guard !cases.isEmpty else { throw ConformanceError("There is no case of that name.") }
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("conformance-\(UUID().uuidString)")
        let side = isFerryHalf ? nil : coreData(folder)
        guard side != nil || isFerryHalf else {
            throw ConformanceError("Core Data is not on this system. --ferry-half tries what does not need it.")
        }
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        var problems = 0
        for one in cases {
            tell("\(one.name): \(one.rows) rows of each entity, \(one.source) → \(one.destination)")
            let run = CaseRun(
                one, ferry: FerryProgram(path: ferry), coreData: side, folder: folder.appendingPathComponent(one.name))
            let findings: [Finding]
            do {
                findings = try run.findings()
            } catch {
                findings = [Finding(check: "The case is tried to its end", problem: "\(error)")]
            }
            for finding in findings { tell("  \(finding)") }
            problems += findings.count { $0.problem != nil }
        }
        guard problems == 0 else {
            tell("\(problems) of these do not hold; the stores are in \(folder.path).")
            return 1
        }
        try FileManager.default.removeItem(at: folder)
        tell(side == nil ? "Ferry's half holds; Core Data did not run." : "All checks hold.")
        return 0
    }
}
