internal import FerryBase
internal import FerryMapping
internal import FerryPlan

/// The content of `run.json`: the identity of a run, the inputs that must not change, and the run's progress.
///
/// If it differs from the databases of the run, these are right: it names the current step, but no rows.
package struct RunRecord: Sendable {
    /// The version of this file's form and of the unfinished databases beside it.
    ///
    /// 3: the part of a migration has a key of its own.
    static let format = 3

    package enum Kind: String, Codable, Sendable { case migration, rollback }

    package var head: RunHead
    /// Nil for a rollback.
    var migration: Migration?
    var kind: Kind { migration == nil ? .rollback : .migration }

    /// Whether the run has changed the file at its path or kept a copy of it: the next command must find its folder.
    var changesPlace: Bool { head.kept != nil || head.swap != nil }

    /// The part of the record that only a migration has.
    package struct Migration: Codable, Sendable {
        var options: Options
        /// Names of the versions from the store's to the target.
        var chain: [String]
        /// The versions that each step passes.
        var passes: [[String]]
        /// `now()` of every expression, in seconds since 2001-01-01 UTC.
        var now: Double
        /// Whether no step is a copy.
        var isInPlace = false
        /// Whether steps in place change a file of the run folder.
        ///
        /// Else, without an output, one transaction changes the store itself.
        var runsInFolder = false
        /// Why steps that could run in place are copies, by the executor; and what only the store showed, which is absent
        /// in records of earlier tools.
        var copying = Planner.Copying()
        var obstacles: Planner.Copying?
        /// The completed steps, the last perhaps unverified; those on the store itself are recorded before COMMIT.
        var steps: [StepRecord] = []
        /// The last step, counted from 1, whose source passed the check of its rows.
        var checkedStep: Int?
        /// The last step, counted from 1, before which the app's hook has returned.
        var begunStep: Int?
        /// The rows of each entity as preflight counted them.
        var rows: [String: Int64] = [:]
        var findings = Findings()
        /// The SHA-256 of each mapping model of the steps, by name.
        var mappingModels: [String: String] = [:]
        /// The store whose layout the new store gets; absent if the model gives it.
        ///
        /// A resumed run compares the layout itself, so the store may have been moved.
        var layoutStore: String?

        /// Whether a run can have written the record, judged by the number of its steps.
        var isPlausible: Bool {
            !chain.isEmpty && steps.count <= stepCount && (checkedStep.map { (0...stepCount).contains($0) } ?? true)
        }

        var from: String { chain[0] }
        var to: String { chain[chain.count - 1] }
        var stepCount: Int { passes.count }
    }

    /// The options that a call must repeat to resume the run.
    package struct Options: Codable, Hashable, Sendable {
        var target: String
        var output: String?
        var verify = VerifyMode.full
        var takesSnapshot = true
        var damaged = DamagedRows.refuse
        var dropUnknown: [String] = []
        /// The SHA-256 of the known schema of the new store; absent if the whole schema follows from the model.
        var schema: String?
        /// The names of join tables from the setting; absent if it was not used.
        var joinTables: [String]?
        /// Whether the run takes over what an unfinished attempt left; absent if it does not.
        var adopts: Bool?
        /// Whether the app has hooks; absent if it has none.
        var hasStages: Bool?
    }

    /// The identity of the run folder: journals in it name each other by absolute path.
    package struct Place: Codable, Hashable, Sendable {
        package var path: String
        var device: UInt64
        var inode: UInt64
    }

    /// A step whose destination is complete.
    struct StepRecord: Codable, Sendable {
        /// Whether the whole destination is in its main file, without Ferry's own tables.
        var isFinished: Bool
        /// Whether the app's hook after the step has returned.
        var isSeen: Bool?
        /// The finished destination's state; absent for a run on the store itself.
        var destination: FileState?
        var entityMappings: [MigrationReport.EntityMappingReport]
        var unmapped: [MigrationReport.Unmapped]
        var healed: [MigrationReport.Healed]
        /// Objects of earlier versions that the step did not carry over.
        var leftBehind: [String]
        var chunks: Int
        /// Absent until the step is verified.
        var verification: VerificationSummary?
    }
}

extension RunRecord: Codable {
    private enum CodingKeys: CodingKey { case kind, migration }

    package init(from decoder: any Decoder) throws {
        head = try RunHead(from: decoder)
        let part = try decoder.container(keyedBy: CodingKeys.self)
        migration = try part.decodeIfPresent(Migration.self, forKey: .migration)
        guard try part.decode(Kind.self, forKey: .kind) == kind else {
            throw DecodingError.dataCorruptedError(
                forKey: .kind, in: part, debugDescription: "The record is of another kind than its part.")
        }
    }

    package func encode(to encoder: any Encoder) throws {
        try head.encode(to: encoder)
        var part = encoder.container(keyedBy: CodingKeys.self)
        try part.encode(kind, forKey: .kind)
        try part.encodeIfPresent(migration, forKey: .migration)
    }
}

extension RunRecord.Migration {
    /// A record of a copy with default options, for tests.
    package init(to target: String, chain: [String]) {
        self.init(
            options: RunRecord.Options(target: target), chain: chain, passes: chain.dropFirst().map { [$0] }, now: 0)
    }
}
