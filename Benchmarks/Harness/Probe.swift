internal import CFloor
package import FerryBase

/// Measures the one piece of work of a sample.
package final class Probe: Sendable {
    /// Whether this run counts instead of being timed.
    package let isCounting: Bool
    /// The released program, for cases that measure whole commands with it.
    package let tool: String?
    private let statements = Locked(0)
    private let result = Locked<Sample?>(nil)

    package init(isCounting: Bool, tool: String? = nil) {
        self.isCounting = isCounting
        self.tool = tool
    }

    /// Counts statements in a counting run; nil in a timed run, so that the run pays nothing for counting.
    package var trace: TraceHook? {
        guard isCounting else { return nil }
        return { [self] event in
            if event.kind == .statement { statements.withLock { $0 += 1 } }
        }
    }

    /// Runs the work; once per sample.
    package func measure<Result>(rows: Int, _ body: () throws -> Result) throws -> Result {
        precondition(sample == nil, "a sample measures one piece of work")
        let written = ProcessFigures.writtenBytes()
        statements.withLock { $0 = 0 }
        if isCounting { cfloor_count_allocations() }
        let processor = ProcessFigures.processorSeconds()
        let start = Clock.nanoseconds()
        let value = try body()
        let nanoseconds = Clock.nanoseconds() - start
        let processorEnd = ProcessFigures.processorSeconds()
        var sample = Sample(seconds: Double(nanoseconds) / 1e9, rows: rows)
        if let processor, let processorEnd { sample.processorSeconds = processorEnd - processor }
        if isCounting {
            let allocations = cfloor_allocations()
            sample.allocations = allocations < 0 ? nil : Int(allocations)
            sample.statements = statements.withLock { $0 }
        }
        if let before = written, let after = ProcessFigures.writtenBytes() { sample.writtenBytes = after - before }
        sample.peakBytes = ProcessFigures.peakBytes()
        result.withLock { $0 = sample }
        return value
    }

    /// Adds a figure of the case's own; call it after the measured work.
    package func note(_ name: String, _ value: Double) { result.withLock { $0?.notes[name] = value } }

    /// Records the peak of another program that did the work for this process.
    package func notePeak(ofChildren bytes: Int64?) { result.withLock { $0?.peakBytes = bytes } }

    package var sample: Sample? { result.withLock { $0 } }
}
