internal import FerryBase
internal import FerryEngine
internal import FerryMapping
internal import FerryPlan
internal import FerryStore

/// The work of a run, piece by piece, with the time of each by ``WorkCosts``.
///
/// ``RunEstimate`` learns the speed of the machine while it runs.
package struct RunWork: Sendable {
    /// A part of a phase that reports progress under a name.
    package struct Part: Sendable {
        /// The names in progress reports; nil for reports without a name.
        var names: [String?]
        /// The expected number of rows, entries or bytes; 0 if the part does not count.
        var count: Double
        private(set) var seconds: Double
        /// Whether a smaller part has the same name and reports no total.
        let needsTotal: Bool
        /// The statement of a transaction that is the part.
        let statement: ProgressUpdate.StatementPlace?

        init(
            _ names: [String?], count: Double, seconds: Double, needsTotal: Bool = false,
            statement: ProgressUpdate.StatementPlace? = nil
        ) {
            (self.names, self.count, self.seconds) = (names, max(0, count), max(0, seconds))
            (self.needsTotal, self.statement) = (needsTotal, statement)
        }

        mutating func recount(_ known: Double) {
            guard count > 0, known != count else { return }
            seconds *= known / count
            count = known
        }
    }

    /// A phase of a step or of the run.
    package struct Piece: Sendable {
        package let phase: Phase
        /// Further phases of the piece: one transaction alternates between carrying and checking.
        var others: Set<Phase> = []
        var step: Int?
        var parts: [Part]
        /// The first part of each name.
        private let places: [String?: Int]
        /// Whether a part begins when the part before it is complete.
        var isInOrder: Bool { phase != .verify }

        init(_ phase: Phase, step: Int? = nil, others: Set<Phase> = [], _ parts: [Part]) {
            (self.phase, self.step, self.others, self.parts) = (phase, step, others, parts)
            places = Dictionary(first: parts.enumerated().flatMap { place, part in part.names.map { ($0, place) } })
        }

        package var seconds: Double { parts.reduce(0) { $0 + $1.seconds } }

        func covers(_ phase: Phase, step: Int?) -> Bool {
            (phase == self.phase || others.contains(phase)) && (step == self.step || self.step == nil)
        }

        func part(_ subject: String?) -> Int? {
            if let exact = places[subject] { return exact }
            // Mappings that share a pass over a table report under the name of the first one.
            guard let subject else { return nil }
            return subject.ranges(of: " and ").lazy.compactMap { places[String(subject[..<$0.lowerBound])] }.first
        }

        /// The part of a statement; if the run has other statements than expected, the one at the same share of them.
        func part(_ place: ProgressUpdate.StatementPlace) -> Int? {
            guard let first = parts.firstIndex(where: { $0.statement?.list == place.list }),
                let expected = parts[first].statement?.count
            else { return nil }
            if expected == place.count { return first + min(place.index, expected - 1) }
            return first + place.index * (expected - 1) / max(1, place.count - 1)
        }
    }

    package private(set) var pieces: [Piece] = []

    /// The seconds of the whole run on a machine whose work takes `machine` times as long as that of ``WorkCosts``.
    func seconds(machine: Double) -> Double { pieces.reduce(0) { $0 + $1.seconds } * machine }
}

extension RunWork {
    /// The input and output of a step, as far as they are known before it runs.
    package struct Step: Sendable {
        package struct Mapping: Sendable {
            /// The name under which the mapping's pass reports progress.
            package var name: String
            /// The numbers of objects read and made, which differ for an iteration.
            package var rows: Double
            package var made: Double
            /// The table in which the mapping finds or creates objects, if it does.
            package var foundIn: String?
            package var isIterated: Bool
            package var isInSwift: Bool
            package var hasPolicy: Bool
            /// The bytes of a row that is read; nil for the step's average.
            package var width: Double?
            /// What a row consists of.
            package var parts = RowParts()

            package init(
                _ name: String, rows: Double, made: Double? = nil, foundIn: String? = nil, isIterated: Bool = false,
                isInSwift: Bool = false, hasPolicy: Bool = false
            ) {
                (self.name, self.rows, self.made) = (name, rows, made ?? rows)
                (self.foundIn, self.isIterated, self.isInSwift) = (foundIn, isIterated, isInSwift)
                self.hasPolicy = hasPolicy
            }
        }

        /// The average numbers of a row's values, of foreign keys that it takes unchanged, of those that are found by
        /// a rule, and of the parts of the expressions that compute its values.
        package struct RowParts: Sendable, Hashable {
            package var values = 0.0
            package var keys = 0.0
            package var links = 0.0
            package var expressions = 0.0

            package init() {}

            /// Adds parts of a share of the rows.
            mutating func add(_ other: Self, share: Double) {
                values += other.values * share
                keys += other.keys * share
                links += other.links * share
                expressions += other.expressions * share
            }
        }

        /// A table or an index of the new store, or a join table.
        package struct Content: Sendable {
            package var names: [String]
            package var rows: Double
            package var isText: Bool
            /// Whether an index is filled together with its table, or is there already.
            package var isEarly: Bool
            /// The table of an index.
            package var table: String?
            /// The bytes of a row; nil for the step's average.
            package var width: Double?
            package var parts = RowParts()

            package init(
                _ names: [String], rows: Double, isText: Bool = false, isEarly: Bool = false, table: String? = nil
            ) {
                (self.names, self.rows, self.isText, self.isEarly) = (names, rows, isText, isEarly)
                self.table = table
            }
        }

        package var isCopy: Bool
        /// The bytes of the content that the step reads.
        package var bytes: Double
        /// The objects that the step reads, each counted once.
        package var objects: Double
        package var mappings: [Mapping] = []
        package var tables: [Content] = []
        package var joins: [Content] = []
        /// Relationships whose foreign keys are found after all rows are written, with the number of objects.
        package var linked: [Content] = []
        package var indexes: [Content] = []
        /// The rows that a step in place rewrites, if its statements are not known.
        package var rewritten = 0.0
        /// The statements of a step in place: a list for each part of the step.
        package var lists: [StatementList] = []

        /// Statements that run one after another, with their seconds.
        package struct StatementList: Sendable {
            package var preparation: Double
            package var statements: [(subject: String, seconds: Double)]
            package var checks: Double

            package init(preparation: Double, statements: [(subject: String, seconds: Double)], checks: Double) {
                (self.preparation, self.statements, self.checks) = (preparation, statements, checks)
            }

            package var seconds: Double { statements.reduce(preparation + checks) { $0 + $1.seconds } }
        }

        /// The seconds of a step in place, without COMMIT.
        package var secondsInPlace: Double {
            lists.isEmpty
                ? rewritten * (WorkCosts.rowInPlace + min(width, 4_096) * WorkCosts.writtenByte)
                : lists.reduce(0) { $0 + $1.seconds }
        }

        package init(isCopy: Bool, bytes: Double, objects: Double) {
            (self.isCopy, self.bytes, self.objects) = (isCopy, bytes, objects)
        }

        /// The bytes of an object, with its share of all content except links.
        var width: Double {
            let links = joins.reduce(0) { $0 + $1.rows } * 40
            return max(bytes - links, bytes / 4) / max(1, objects)
        }
    }

    /// The work of steps with a file each, or of all steps as one transaction on the store.
    ///
    /// `jobs` threads verify. A run that swaps writes the new content into the store at the end.
    package init(
        steps: [Step], isOneTransaction: Bool = false, isVerifiedBeforeCommit: Bool = false,
        takesSnapshot: Bool = false,
        verify: VerifyMode = .full, jobs: Int = 2, swaps: Bool = false
    ) {
        let first = steps.first?.bytes ?? 0
        if takesSnapshot {
            let part = Part([nil], count: first, seconds: WorkCosts.phase + first * WorkCosts.snapshot)
            pieces.append(Piece(.snapshot, [part]))
        }
        if isOneTransaction {
            let checks = isVerifiedBeforeCommit ? steps.reduce(0) { $0 + $1.secondsBeforeCommit(jobs: jobs) } : 0
            let commit = Part([], count: 0, seconds: WorkCosts.commit + checks)
            pieces.append(Piece(.rows, others: [.verify, .swap], Self.parts(inPlace: steps) + [commit]))
        } else {
            for (number, step) in zip(1..., steps) {
                pieces += Self.pieces(of: step, number, verify, jobs: jobs)
            }
        }
        if swaps {
            // The swap counts pages.
            let bytes = steps.last?.bytes ?? first
            pieces.append(Piece(.swap, [Part([nil], count: 0, seconds: WorkCosts.phase + bytes * WorkCosts.swap)]))
        }
    }

    /// A part for each statement, with the preparation before them and the checks after them.
    private static func parts(inPlace steps: [Step]) -> [Part] {
        var parts: [Part] = []
        var number = 0
        for step in steps {
            if step.lists.isEmpty { parts.append(Part([], count: 0, seconds: step.secondsInPlace)) }
            for list in step.lists {
                let all =
                    [(nil, list.preparation)] + list.statements.map { ($0.subject, $0.seconds) } + [(nil, list.checks)]
                for (index, (subject, seconds)) in all.enumerated() {
                    parts.append(
                        Part(
                            [subject], count: 0, seconds: seconds,
                            statement: .init(list: number, index: index, count: all.count)))
                }
                number += 1
            }
        }
        return parts
    }

    private static func pieces(of step: Step, _ number: Int, _ verify: VerifyMode, jobs: Int) -> [Piece] {
        let base = Part([], count: 0, seconds: WorkCosts.phase)
        let item = WorkCosts.item
        var pieces: [Piece] = []
        if step.isCopy {
            // Tables that stay are copied with all pages, and then altered.
            let kept = step.lists.isEmpty ? [] : [copyOfPages(step)] + parts(inPlace: [step])
            pieces.append(
                Piece(.rows, step: number, kept + step.mappings.map { part(of: $0, step.width, item) } + [base]))
            pieces.append(
                Piece(
                    .relationships, step: number,
                    step.joins.map { Part($0.names, count: 0, seconds: item + $0.rows * WorkCosts.link) }
                        + step.linked.map { Part($0.names, count: 0, seconds: item + $0.rows * WorkCosts.linkedLater) }
                        + [base]))
            pieces.append(
                Piece(
                    .indexes, step: number,
                    step.indexes.filter { !$0.isEarly }.map {
                        Part($0.names, count: 0, seconds: item + seconds(ofIndex: $0))
                    } + [base]))
        } else {
            pieces.append(Piece(.rows, step: number, [copyOfPages(step)] + parts(inPlace: [step]) + [base]))
        }
        let checks = verify == .none ? [] : verified(step, verify, item, jobs: jobs)
        if !checks.isEmpty { pieces.append(Piece(.verify, step: number, checks + [base])) }
        return pieces
    }

    private static func copyOfPages(_ step: Step) -> Part {
        Part(["copy of the store"], count: 0, seconds: step.bytes * WorkCosts.pageCopy)
    }

    static func seconds(ofIndex index: Step.Content) -> Double {
        index.rows * (index.isText ? WorkCosts.text : WorkCosts.number)
    }

    private static func part(of mapping: Step.Mapping, _ average: Double, _ item: Double) -> Part {
        let seconds =
            mapping.isIterated
            ? mapping.made * (WorkCosts.row + WorkCosts.iterated)
            : mapping.rows * secondsPerRow(of: mapping, average)
        return Part([mapping.name], count: mapping.rows, seconds: item + seconds)
    }

    /// The seconds for one row that a mapping reads.
    static func secondsPerRow(of mapping: Step.Mapping, _ average: Double) -> Double {
        if mapping.foundIn != nil { return WorkCosts.row + WorkCosts.found }
        let parts = mapping.parts
        var cost = WorkCosts.row + (mapping.width ?? average) * WorkCosts.rowByte
        cost += parts.values * WorkCosts.rowValue + parts.keys * WorkCosts.rowKey + parts.links * WorkCosts.rowLink
        cost += parts.expressions * WorkCosts.rowExpression
        if mapping.isInSwift { cost += WorkCosts.rowInSwift }
        if mapping.hasPolicy { cost += WorkCosts.rowOfPolicy }
        return cost
    }

    private static func verified(
        _ step: Step, _ verify: VerifyMode, _ item: Double, jobs: Int
    ) -> [Part] {
        let alone = verify == .quick ? WorkCosts.quickly : 1
        let scale = alone * WorkCosts.jobs / min(max(1, Double(jobs)), WorkCosts.mostJobs)
        // Links are compared together with rows, and report no progress.
        let links = step.joins.reduce(0) { $0 + $1.rows } * WorkCosts.verifiedLink
        let rows = step.tables.reduce(0) { $0 + $1.rows }
        let linksOfRow = links / max(1, rows)
        let entries = step.indexes.map { index in
            Part(index.names, count: index.rows, seconds: item + index.rows * WorkCosts.verifiedEntry * scale)
        }
        // Each row that was read is looked up, however few objects the rows made.
        let found = step.mappings.filter { $0.foundIn != nil }.flatMap { mapping in
            [
                Part([mapping.name], count: mapping.rows, seconds: mapping.rows * WorkCosts.verifiedFound * alone),
                Part([], count: 0, seconds: mapping.rows * WorkCosts.sortedFound * alone),
            ]
        }
        // A table's indexes are compared before its rows.
        let tables = step.tables.map { table in
            Part(
                table.names, count: table.rows,
                seconds: item + table.rows * (linksOfRow + verifiedSecondsPerRow(of: table, step.width)) * scale,
                needsTotal: true)
        }
        return entries + found + tables
    }

    /// The seconds of a row's comparison in a full verification, with as many threads as in the measurement.
    static func verifiedSecondsPerRow(of table: Step.Content, _ average: Double) -> Double {
        WorkCosts.verifiedRow + (table.width ?? average) * WorkCosts.verifiedByte
            + table.parts.values * WorkCosts.verifiedValue + table.parts.keys * WorkCosts.verifiedKey
            + table.parts.links * WorkCosts.verifiedRule + table.parts.expressions * WorkCosts.verifiedExpression
    }
}
