internal import FerryBase
internal import FerrySQLite
internal import Foundation
internal import TestSupport
internal import Testing

/// `keep`: which of the objects that become one stays.
@Suite("The kept object of several equal ones")
struct KeptObjectTests {
    private let app: RouteFolder

    init() throws {
        app = try RouteFolder()
        for (version, constraint) in [
            ("v1", "<userInfo/>"),
            (
                "v2",
                RouteFolder.unique("code")
            ),
        ] {
            try app.model(
                "App", version,
                RouteFolder.entity("Note", "text", RouteFolder.link("user", "User", "notes", toMany: false))
                    + RouteFolder.entity(
                        "User", "code", "name", "date:Date", "rank:Integer 32",
                        RouteFolder.link("notes", "Note", "user"),
                        constraint))
        }
        try app.current("App", "v2")
        try app.generate("App", "v1", rows: 40)
        // Groups of several sizes, ties, missing dates and missing codes; every note belongs to a user.
        try app.execute(
            """
            UPDATE ZUSER SET ZNAME = 'n' || Z_PK, ZCODE = CASE WHEN Z_PK % 7 <> 0 THEN 'c' || (Z_PK % 5) END,
                ZDATE = CASE WHEN Z_PK % 4 <> 0 THEN (Z_PK * 37) % 23 END, ZRANK = Z_PK % 3;
            UPDATE ZNOTE SET ZUSER = 1 + (Z_PK * 11) % 40
            """)
    }

    private func write(_ members: String) throws {
        try app.write(
            """
            { "source": "v1", "destination": "v2", "entityMappings": [
              { "name": "U", "source": "User", "destination": "User", "unique": ["code"]\(members) },
              { "name": "N", "source": "Note", "destination": "Note",
                "relationships": { "user": { "mapping": "U", "from": "$source.user" } } } ] }
            """, to: "m.json")
    }

    fileprivate struct User {
        var key: Int64
        var code, name: String?
        var date: Double?
        var rank: Int64
    }

    /// The names of the users that stay, and the name of the user of each note, found with dictionaries.
    private func expected(nilIsEqual: Bool, passes: (User) -> Bool, isBetter: (User, User) -> Bool) throws
        -> (users: Set<String>, notes: [Int64: String])
    {
        let connection = try Connection(path: app.folder.file("App.sqlite"), mode: .readOnly)
        let users = try connection.rows("SELECT Z_PK, ZCODE, ZNAME, ZDATE, ZRANK FROM ZUSER ORDER BY Z_PK").map { row in
            var date: Double?
            if case .real(let value) = row[3] { date = value } else { date = row[3].integer.map(Double.init) }
            return User(
                key: row[0].integer ?? 0, code: row[1].text, name: row[2].text, date: date, rank: row[4].integer ?? 0)
        }.filter(passes)
        var best: [String: User] = [:]
        for user in users {
            let key = user.code ?? (nilIsEqual ? "" : "\(user.key)")
            if let known = best[key], !isBetter(user, known) { continue }
            best[key] = user
        }
        let heirs = Dictionary(
            uniqueKeysWithValues: users.map { ($0.key, best[$0.code ?? (nilIsEqual ? "" : "\($0.key)")]?.name ?? "") })
        var notes: [Int64: String] = [:]
        for row in try connection.rows("SELECT Z_PK, ZUSER FROM ZNOTE") {
            notes[row[0].integer ?? 0] = heirs[row[1].integer ?? 0] ?? "-"
        }
        return (Set(best.values.compactMap(\.name)), notes)
    }

    enum Rule: String, CaseIterable {
        case first, last
        case newest = "newest by $source.date"
        case highest = "newest by $source.rank * 100 + $source.date"

        fileprivate func isBetter(_ one: User, _ known: User) -> Bool {
            func value(_ user: User) -> Double? {
                guard self == .highest else { return user.date }
                return user.date.map { date in Double(user.rank) * 100 + date }
            }
            switch self {
            case .first: return false
            case .last: return true
            case .newest, .highest:
                guard let own = value(one) else { return false }
                return value(known).map { own > $0 } ?? true
            }
        }
    }

    @Test(
        "is the first, the last or the one with the greatest value, with any chunk size", arguments: Rule.allCases,
        ["", ", \"nilIsEqual\": true", ", \"where\": \"rank != 1\""])
    func keeps(_ rule: Rule, _ more: String) throws {
        try write(", \"keep\": \"\(rule.rawValue)\"\(more)")
        let (users, notes) = try expected(
            nilIsEqual: more.contains("nilIsEqual"), passes: { more.contains("where") ? $0.rank != 1 : true },
            isBetter: rule.isBetter)
        for rows in ["auto", "7"] {
            let output = "\(rows).sqlite"
            let done = try app.run(
                "migrate", "App.sqlite", "--models", "App.xcdatamodeld", "--mappings", "m.json", "--accept-loss",
                "--output",
                output, "FERRY_EXECUTOR=set", "--chunk-size", rows)
            #expect(done.exitCode == 0, "\(rows): \(done)")
            let connection = try Connection(path: app.folder.file(output), mode: .readOnly)
            #expect(
                Set(try connection.rows("SELECT ZNAME FROM ZUSER").compactMap { $0[0].text }) == users, "\(rows)")
            #expect(try connection.integer("SELECT count(*) FROM ZUSER") == Int64(users.count))
            for row in try connection.rows(
                "SELECT n.Z_PK, u.ZNAME FROM ZNOTE AS n LEFT JOIN ZUSER AS u ON u.Z_PK = n.ZUSER")
            {
                #expect(row[1].text ?? "-" == notes[row[0].integer ?? 0], "\(rows), note \(row[0])")
            }
            let verified = try app.run(
                "verify", output, "--models", "App.xcdatamodeld", "--mappings", "m.json", "--source", "App.sqlite")
            #expect(verified.exitCode == 0, "\(rows): \(verified)")
            // A value of another object is found.
            try app.execute("UPDATE ZUSER SET ZNAME = 'n0' WHERE Z_PK = 2", on: output)
            #expect(
                try app.run(
                    "verify", output, "--models", "App.xcdatamodeld", "--mappings", "m.json", "--source", "App.sqlite"
                ).exitCode == 3)
        }
    }

    @Test("is told in the losses with their count, and shown as it was written", arguments: Rule.allCases)
    func told(_ rule: Rule) throws {
        try write(", \"keep\": \"\(rule.rawValue)\"")
        let users = try expected(nilIsEqual: false, passes: { _ in true }, isBetter: rule.isBetter).users
        // Every merged user has a name of its own.
        let lost = 40 - users.count
        let words = ["App.sqlite", "--models", "App.xcdatamodeld", "--mappings", "m.json"]
        let planned = try app.run(["plan"] + words + ["--check"])
        let amount = rule == .highest ? "User.name, ≤ 40 values" : "User.name, \(lost) values"
        #expect(planned.exitCode == 2 && planned.output.contains(amount), "\(planned)")
        let refused = try app.run(["migrate"] + words)
        #expect(refused.exitCode == 2 && refused.diagnostics.contains("--lose User.date"), "\(refused)")
        let kept = rule == .first ? "the first one" : rule == .last ? "the last one" : "the one with the greatest"
        #expect(refused.diagnostics.contains("which keeps \(kept)"), "\(refused)")
        let shown = try app.run("mapping", "show", "m.json")
        #expect(rule == .first || shown.output.contains("\"keep\": \"\(rule.rawValue)\""), "\(shown)")
        #expect(try app.run("mapping", "check", "m.json", "--models", "App.xcdatamodeld").exitCode == 0)
    }

    @Test(
        "is refused where it has no meaning, with the line of the file",
        arguments: [
            ", \"keep\": \"oldest\"", ", \"keep\": \"newest by \"",
            ", \"forEach\": {\"n\": \"$source.notes\"}, \"keep\": \"last\"",
        ])
    func refused(_ members: String) throws {
        try write(members)
        let checked = try app.run("mapping", "check", "m.json", "--models", "App.xcdatamodeld")
        #expect(checked.exitCode == 2 && (checked.output + checked.diagnostics).contains("m.json:2"), "\(checked)")
    }
}
