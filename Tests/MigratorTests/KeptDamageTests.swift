import Ferry
import FerryBase
import FerryEngine
import FerrySQLite
import Foundation
import TestSupport
import Testing

/// Damage in tables that stay, made between the run and its verification, is found by full verification.
///
/// `FERRY_CHANGES` gives the number of damages (default: a few of each kind), `FERRY_CHANGE_SEED` the seed.
@Suite("Damage in tables that stay")
struct KeptDamageTests {
    private enum Kind: String, CaseIterable {
        /// Two leaves of one b-tree exchanged, another value in a cell, an index without one of its entries.
        case pages, cell, entry
    }

    struct DefaultPolicy: EntityMigrationPolicy {}

    private static let environment = ProcessInfo.processInfo.environment
    private static let changes = environment["FERRY_CHANGES"].flatMap { Int($0) } ?? 24
    private static let seed = environment["FERRY_CHANGE_SEED"].flatMap { UInt64($0) } ?? 1
    private static let tables = ["ZNOTE", "ZSHELF", "ZTAG"]

    @Test("All of it is found, beside a policy and beside a filter", arguments: [true, false])
    func found(hasPolicy: Bool) throws {
        let folder = try TemporaryFolder()
        let migrator = try besideStore(in: folder, hasPolicy ? DefaultPolicy() : nil)
        let plan = try migrator.plan(configuration(folder))
        let kept = try #require(plan.steps.first?.tables).filter { $0.treatment == .kept }.map(\.name)
        #expect(Set(kept).isSuperset(of: Self.tables), "\(kept)")
        var random = SplitMix(seed: Self.seed)
        var found: Set<Kind> = []
        for number in 0..<Self.changes / 2 {
            let kind = Kind.allCases[number % Kind.allCases.count]
            if let missed = try missed(kind, folder, migrator, &random) {
                Issue.record("not found, seed \(Self.seed), number \(number): \(missed)")
            } else {
                found.insert(kind)
            }
        }
        #expect(found == Set(Kind.allCases), "seed \(Self.seed)")
    }

    private func configuration(_ folder: TemporaryFolder) -> Configuration {
        Configuration.allowingLosses {
            $0.target = "App 2"
            $0.output = URL(fileURLWithPath: folder.file("New.sqlite"))
            $0.snapshots.form = .none
            $0.now = { Date(timeIntervalSinceReferenceDate: 0) }
        }
    }

    /// Runs a migration with one damage; returns it if verification does not find it.
    private func missed(
        _ kind: Kind, _ folder: TemporaryFolder, _ migrator: Migrator, _ random: inout SplitMix
    ) throws -> String? {
        let output = folder.file("New.sqlite")
        let seed = random.next()
        let made = Locked<Result<String, any Error>?>(nil)
        var isFound = false
        do {
            _ = try migrator.migrate(configuration(folder)) { event in
                guard case .phase(.verify, _) = event, made.withLock({ $0 == nil }) else { return }
                let result = Result { try Self.damage(kind, output + ".ferry/step-1/destination.sqlite", seed) }
                made.withLock { $0 = result }
            }
        } catch {
            isFound = true
        }
        let words = try #require(made.withLock { $0 }).get()
        for path in [output, output + ".ferry", output + ".ferry-log.json"] { try FileLayer().removeTree(path) }
        return isFound ? nil : words
    }

    private static func damage(_ kind: Kind, _ path: String, _ seed: UInt64) throws -> String {
        var random = SplitMix(seed: seed)
        if kind == .cell { return try damageCell(path, &random) }
        var leaves: [String: [Int64]] = [:]
        do {
            let connection = try Connection(path: path, mode: .readOnly)
            let rows = try connection.rows(
                "SELECT d.name, d.pageno, m.type FROM dbstat AS d JOIN sqlite_master AS m ON m.name = d.name "
                    + "WHERE d.pagetype = 'leaf' AND d.ncell > 1 ORDER BY d.name, d.pageno")
            for row in rows {
                guard let name = row[0].text, let page = row[1].integer else { continue }
                let isKept = tables.contains { name == $0 || name.hasPrefix($0 + "_") }
                if isKept, kind == .pages || row[2].text == "index" { leaves[name, default: []].append(page) }
            }
        }
        let names = leaves.filter { kind == .entry || $0.value.count > 1 }.keys.sorted()
        try #require(!names.isEmpty)
        let name = names[random.below(names.count)]
        let pages = leaves[name] ?? []
        let first = random.below(pages.count)
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
        defer { try? file.close() }
        func read(_ page: Int64) throws -> [UInt8] {
            try file.seek(toOffset: UInt64(page - 1) * 4096)
            return Array(try file.read(upToCount: 4096) ?? Data())
        }
        func write(_ bytes: [UInt8], to page: Int64) throws {
            try file.seek(toOffset: UInt64(page - 1) * 4096)
            try file.write(contentsOf: bytes)
        }
        guard kind == .entry else {
            let second = (first + 1 + random.below(pages.count - 1)) % pages.count
            let contents = (try read(pages[first]), try read(pages[second]))
            try write(contents.1, to: pages[first])
            try write(contents.0, to: pages[second])
            return "pages \(pages[first]) and \(pages[second]) of \(name)"
        }
        var bytes = try read(pages[first])
        let count = Int(bytes[3]) << 8 | Int(bytes[4])
        let entry = random.below(count)
        // The pointers to the cells follow the header of a leaf.
        for place in 8 + 2 * entry..<8 + 2 * (count - 1) { bytes[place] = bytes[place + 2] }
        (bytes[3], bytes[4]) = (UInt8((count - 1) >> 8), UInt8((count - 1) & 255))
        try write(bytes, to: pages[first])
        return "entry \(entry) on page \(pages[first]) of \(name)"
    }

    private static func damageCell(_ path: String, _ random: inout SplitMix) throws -> String {
        let connection = try Connection(path: path, mode: .readWrite)
        try connection.execute("PRAGMA synchronous = OFF")
        let table = tables[random.below(tables.count)]
        let columns = try connection.rows("SELECT name FROM pragma_table_info(?)", [.text(table)])
            .compactMap { $0[0].text }
        let column = columns[random.below(columns.count)]
        let highest = try connection.integer("SELECT max(Z_PK) FROM \(table)") ?? 1
        let key = Int64(random.below(Int(highest))) + 1
        let value = column == "Z_PK" ? "max(Z_PK) + 1000 FROM \(table)" : "ifnull(\(column), 0) + 1"
        try connection.execute(
            "UPDATE \(table) SET \(column) = (SELECT \(value)) WHERE Z_PK = \(key)")
        return "\(table).\(column) of \(key)"
    }
}
