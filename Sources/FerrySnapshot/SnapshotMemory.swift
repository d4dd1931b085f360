package import FerryBase

/// What taking a snapshot holds in memory, by its form and level.
package enum SnapshotMemory {
    /// KiB of Zstandard's compressing and the decoding context together, from level 1 to 19.
    ///
    /// Measured with frames of 64 MiB and zstd 1.5.4: its own estimates are not a part of its stable interface.
    private static let zstandard = [
        2_340, 3_550, 6_110, 7_390, 8_410, 8_410, 11_490, 11_490, 21_730, 34_020, 34_020, 58_600, 58_600, 58_600,
        74_980, 74_980, 79_080, 79_080, 100_330,
    ]
    /// KiB of zlib's two, at any level, as its header tells: 256 and 40, with some room for the rest of their state.
    private static let gzip = 320

    /// The most that a snapshot of this level holds, buffers included.
    package static func bytes(level: Int, form: SnapshotForm = .preferred) -> Int {
        precondition(form.levels.contains(level), "a level is one of its form's")
        let contexts =
            switch form {
            case .zstandard: zstandard[level - 1]
            case .gzip: gzip
            }
        return contexts << 10 + ArchiveWriter.bufferBytes(form)
    }

    /// - Throws: ``FerryError`` `.usage` when a level needs more than there is; the remedy names both ways out.
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
            "A snapshot of level \(level) takes \(needed >> 20) MiB, more than a memory limit of "
                + "\(budget.limit >> 20) MiB leaves for it.",
            remedy: """
                Give \(setting: .snapshotLevel, .number(highest)), or \(setting: .memoryLimit, .mebibytes(limit)).
                """)
    }
}
