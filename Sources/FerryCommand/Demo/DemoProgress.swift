internal import FerryBase

#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
#endif

/// A line of `--progress json`, as the demo reads it from its own migration.
struct DemoProgress: Decodable {
    private let phase: String?
    private let subject: String?
    private let done: Int64?
    private let step: Int?
    /// What the line warns of, instead of telling progress.
    let warning: String?

    /// Nil for a line that is something else.
    init?(_ line: String) {
        guard line.hasPrefix("{") else { return nil }
        do { self = try JSONDecoder().decode(DemoProgress.self, from: Data(line.utf8)) } catch { return nil }
    }

    /// Whether this is the middle of making the books' authors, or already beyond it.
    func isHalfWay(of books: Int64) -> Bool {
        guard let step, step >= 2 else { return false }
        let isMakingAuthors = step == 2 && phase == "rows"
        return !isMakingAuthors || (subject == "BookAuthor" && (done ?? 0) * 2 >= books)
    }

    var text: String {
        let rows = done.map { $0 > 0 ? ", after \($0.counting("row"))" : "" } ?? ""
        return "step \(step ?? 0), \(phase ?? "")" + (subject.map { " of \($0)" } ?? "") + rows
    }
}
