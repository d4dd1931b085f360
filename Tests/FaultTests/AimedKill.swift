internal import FerryBase
internal import FerryGenerate
internal import Foundation

/// One kill of the program: its aim, the state of the files after it, and the result of the next call.
struct AimedKill {
    let job: KillJob
    let phase: Phase
    /// The number of the phase's line, counted from 1, that the program has written when it is killed.
    let line: Int
    /// The time between that line and the kill, so that kills also hit long operations halfway.
    let delay: TimeInterval
    /// The line of the next call at which that call is killed, too; nil when it may finish.
    let nextLine: Int?

    /// Aims at a line of a phase; the first two kills of a job and phase take its first and its last line.
    init(_ job: KillJob, _ phase: Phase, number: Int, random: inout SeededRandom) {
        self.job = job
        self.phase = phase
        let lines = job.lines[phase] ?? 1
        switch number {
        case 0: line = 1
        case 1: line = lines
        default: line = 1 + Int(random.below(Int64(lines)))
        }
        delay = random.below(2) == 0 ? 0 : random.fraction() * 0.004
        nextLine = random.below(4) == 0 ? 1 + Int(random.below(300)) : nil
    }

    enum Found {
        /// The old store, byte for byte.
        case untouched
        case old
        case new
        case other
    }

    struct Outcome {
        var found: Found
        /// The last line of the program.
        var lastLine: String
        /// Nil when no rule was broken.
        var complaint: String?
    }

    /// Runs the program, kills it, checks the files, and runs the program again.
    ///
    /// - Returns: Nil when the program ended before the kill.
    func strike() throws -> Outcome? {
        try job.reset()
        let run = try job.start()
        var current: Phase?
        var (count, last) = (0, "")
        var isKilled = false
        while let text = run.line() {
            last = text
            current = KillJob.phase(text) ?? current
            guard current == phase else { continue }
            count += 1
            guard count >= line else { continue }
            if delay > 0 { Thread.sleep(forTimeInterval: delay) }
            run.kill()
            isKilled = true
            break
        }
        let code = run.wait()
        guard isKilled, code == nil else { return nil }
        return try outcome(after: last)
    }

    private func outcome(after last: String) throws -> Outcome {
        let isUntouched = try job.isUntouched()
        var outcome = Outcome(found: try found(isUntouched), lastLine: last, complaint: nil)
        if outcome.found == .other { outcome.complaint = "the store is neither the old one nor the new one" }
        let mayTouch = [.inPlace, .inPlaceWithJournal].contains(job.kind) || phase == .swap || phase == .cleanUp
        if outcome.found == .old, !mayTouch { outcome.complaint = "the store's files were written to before the swap" }

        if let nextLine, try killNext(at: nextLine) == .other {
            outcome.complaint = "the store is neither the old one nor the new one after the second kill"
        }
        let (code, output) = try job.run(job.words)
        guard code == 0 else {
            outcome.complaint = "the next call ended with \(code.map(String.init) ?? "a signal"): \(output)"
            return outcome
        }
        if try job.content(of: job.result) != job.new {
            outcome.complaint = "the next call ended in another destination"
        }
        if job.kind == .output, try !job.isUntouched() { outcome.complaint = "the source has changed" }
        let leftovers = try job.leftovers()
        if !leftovers.isEmpty { outcome.complaint = "left behind: \(leftovers.joined(separator: ", "))" }
        if job.kind != .output, try job.run(["rollback", "--check", "work/Library.sqlite", "--json"]).code != 0 {
            outcome.complaint = "there is no good snapshot"
        }
        return outcome
    }

    /// Kills the next call as well; a call that ends before the kill is also valid.
    private func killNext(at line: Int) throws -> Found {
        let run = try job.start()
        var count = 0
        while count < line, run.line() != nil { count += 1 }
        run.kill()
        _ = run.wait()
        return try found(job.isUntouched())
    }

    private func found(_ isUntouched: Bool) throws -> Found {
        let content = try job.content(of: job.store)
        if job.kind == .output {
            guard content == job.old, isUntouched else { return .other }
            guard try job.exists(job.result) else { return .untouched }
            return try job.content(of: job.result) == job.new ? .new : .other
        }
        if content == job.new { return .new }
        guard content == job.old else { return .other }
        return isUntouched ? .untouched : .old
    }
}
