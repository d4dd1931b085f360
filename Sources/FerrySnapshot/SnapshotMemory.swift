package import FerryBase

/// What taking a snapshot holds in memory, by Zstandard's level.
package enum SnapshotMemory {
    /// KiB of the compressing and the decoding context together, from level 1 to 19.
    ///
    /// Measured with frames of 64 MiB and zstd 1.5.4: its own estimates are not a part of its stable interface.
    private static let contexts = [
        2_340, 3_550, 6_110, 7_390, 8_410, 8_410, 11_490, 11_490, 21_730, 34_020, 34_020, 58_600, 58_600, 58_600,
        74_980, 74_980, 79_080, 79_080, 100_330,
    ]

    /// The most that a snapshot of this level holds, buffers included.
    package static func bytes(level: Int) -> Int {
        precondition(contexts.indices.contains(level - 1), "levels go from 1 to 19")
        return contexts[level - 1] << 10 + ArchiveWriter.bufferBytes
    }

    /// - Throws: ``FerryError`` `.usage` when a level needs more than there is; the remedy names both ways out.
    package static func check(level: Int, within budget: MemoryBudget) throws(FerryError) {
        guard contexts.indices.contains(level - 1) else {
            throw FerryError(
                .usage, "There is no snapshot level \(level).", remedy: "Give one from 1 to \(contexts.count).")
        }
        let needed = bytes(level: level)
        guard needed > budget.snapshot else { return }
        let highest = (1...contexts.count).last { bytes(level: $0) <= budget.snapshot } ?? 1
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
