package import FerryBase

/// The memory for taking a snapshot, by form, level and threads.
package enum SnapshotMemory {
    /// KiB of Zstandard's compression and decompression contexts together, from level 1 to 19.
    ///
    /// Measured with frames of ``SnapshotOptions/usualFrameBytes`` and zstd 1.5.4: its own estimates are not a part of
    /// its stable interface.
    private static let zstandard = [
        680, 880, 1_390, 2_680, 3_700, 3_700, 6_780, 6_780, 6_780, 6_780, 6_780, 6_780, 8_830, 8_830, 8_830, 8_980,
        8_980, 9_610, 9_610,
    ]
    /// KiB of zlib's contexts at any level: its header says 256 and 40, and their other state needs some room.
    private static let gzip = 320
    /// More threads than these compress faster than one thread can hash and write.
    private static let mostWorkers = 8

    /// The most bytes that a snapshot of this level needs, including buffers.
    package static func bytes(level: Int, form: SnapshotForm = .preferred, workers: Int = 1) -> Int {
        precondition(form.levels.contains(level), "a level is one of its form's")
        let contexts = form == .zstandard ? zstandard[level - 1] : gzip
        return workers * contexts << 10
            + ArchiveWriter.bufferBytes(form, frameBytes: Int(SnapshotOptions.usualFrameBytes), workers: workers)
    }

    /// The number of threads that compress: as many as there are processors and as the memory suffices for.
    ///
    /// - Throws: ``FerryError`` `.usage` for a level that the form does not have.
    package static func workers(
        level: Int, form: SnapshotForm, within budget: MemoryBudget, processors: Int
    ) throws(FerryError) -> Int {
        guard form.levels.contains(level) else { throw form.noSuchLevel(level) }
        let most = max(1, min(processors, mostWorkers))
        return (1...most).last { bytes(level: level, form: form, workers: $0) <= budget.snapshotThreads } ?? 1
    }

    /// - Throws: ``FerryError`` `.usage` when a level needs more than the budget; the remedy names both ways out.
    package static func check(
        level: Int, form: SnapshotForm = .preferred, within budget: MemoryBudget
    ) throws(FerryError) {
        guard form.levels.contains(level) else { throw form.noSuchLevel(level) }
        let needed = bytes(level: level, form: form)
        guard needed > budget.snapshot else { return }
        let highest = form.levels.last { bytes(level: $0, form: form) <= budget.snapshot } ?? 1
        let limit = (budget.limit - budget.snapshot + needed) >> 20 + 1
        throw FerryError(
            .usage,
            "A snapshot of level \(level) needs \(needed >> 20) MiB, more than a memory limit of "
                + "\(budget.limit >> 20) MiB leaves for it.",
            remedy: """
                Use \(setting: .snapshotLevel, .number(highest)), or \(setting: .memoryLimit, .mebibytes(limit)).
                """)
    }
}
