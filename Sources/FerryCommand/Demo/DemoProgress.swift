#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
#endif

/// A line of `--progress json`, as the demo reads it from its own migration.
struct DemoProgress: Decodable {
    private let phase: String
    private let subject: String?
    private let done: Int64
    private let total: Int64?
    private let step: Int?

    /// Nil for a line that is something else.
    init?(_ line: String) {
        guard line.hasPrefix("{") else { return nil }
        do { self = try JSONDecoder().decode(DemoProgress.self, from: Data(line.utf8)) } catch { return nil }
    }

    /// Whether this is the middle of making authors, or already beyond it.
    var isHalfWay: Bool {
        guard let step else { return false }
        if step > 2 || (step == 2 && phase != "rows") { return true }
        return step == 2 && (subject ?? "").contains("BookAuthor") && done * 2 >= (total ?? 0) && done > 0
    }

    var text: String {
        let share = total.flatMap { $0 > 0 ? ", \(done * 100 / $0) % done" : nil } ?? ""
        return "step \(step ?? 0), \(phase)" + (subject.map { " of \($0)" } ?? "") + share
    }
}
