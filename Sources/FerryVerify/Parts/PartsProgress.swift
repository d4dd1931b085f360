internal import FerryBase

/// What is told of parts that are made beside each other: those of one subject come together.
final class PartsProgress {
    private let hook: ProgressHook?
    /// Rows of finished parts, by subject.
    private var finished: [String: Int64] = [:]
    /// Subject and rows of parts at work, by name; as many as there are walkers.
    private var atWork: [String: (subject: String, rows: Int64)] = [:]

    init(_ hook: ProgressHook?) { self.hook = hook }

    /// Takes how far a part has come.
    func take(_ update: ProgressUpdate, of part: CheckPart) {
        guard let subject = part.subject, part.total != nil, update.subject == subject else {
            hook?(update)
            return
        }
        atWork[part.name] = (subject, update.done)
        tell(part, subject)
    }

    func take(_ outcome: PartOutcome, of part: CheckPart) {
        atWork[part.name] = nil
        guard let subject = part.subject, outcome.rows > 0 else { return }
        finished[subject, default: 0] += outcome.rows
        tell(part, subject)
    }

    private func tell(_ part: CheckPart, _ subject: String) {
        let done = atWork.values.reduce(finished[subject] ?? 0) { $0 + ($1.subject == subject ? $1.rows : 0) }
        hook?(ProgressUpdate(phase: .verify, subject: subject, done: done, total: part.total))
    }
}
