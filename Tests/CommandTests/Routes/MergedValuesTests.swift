internal import FerryBase
internal import FerrySQLite
internal import Foundation
internal import TestSupport
internal import Testing

/// The losses of merged objects against a plain count of the store's rows.
@Suite("Values of merged objects")
struct MergedValuesTests {
    private static let properties = ["name", "age", "photo", "group", "profile", "inviter"]
    /// The first link of the objects stays: the number of the others is a bound.
    private static let links = properties.dropFirst(3)
    private let app: RouteFolder

    init() throws {
        app = try RouteFolder()
        for (version, constraint) in [
            ("V1", "<userInfo/>"),
            (
                "V2",
                RouteFolder.unique("code")
            ),
        ] {
            try app.model(
                "App", version,
                RouteFolder.entity("Group", "title", RouteFolder.link("users", "User", "group"))
                    + RouteFolder.entity("Profile", "bio", RouteFolder.link("user", "User", "profile", toMany: false))
                    + RouteFolder.entity(
                        "User", "code", "name", "age:Integer 32", "photo:Binary",
                        RouteFolder.link("group", "Group", "users", toMany: false),
                        RouteFolder.link("profile", "Profile", "user", toMany: false),
                        RouteFolder.link("inviter", "User", "invited", toMany: false),
                        RouteFolder.link("invited", "User", "inviter"), constraint))
        }
        try app.current("App", "V2")
        try app.generate("App", "V1", rows: 60)
    }

    private func write(_ members: String) throws {
        let others = ["Group", "Profile"].map { "{ \"source\": \"\($0)\", \"destination\": \"\($0)\" }" }
        let user = "{ \"source\": \"User\", \"destination\": \"User\", \"unique\": [\"code\"]\(members) }"
        try app.write(
            """
            { "source": "V1", "destination": "V2",
              "entityMappings": [\((others + [user]).joined(separator: ", "))] }
            """, to: "m.json")
    }

    /// The loss of each property, counted with dictionaries.
    private func expected(nilIsEqual: Bool) throws -> (losses: [String: Int], users: Int) {
        let connection = try Connection(path: app.folder.file("App.sqlite"), mode: .readOnly)
        let rows = try connection.rows(
            "SELECT ZCODE, ZNAME, ZAGE, ZPHOTO, ZGROUP, ZPROFILE, ZINVITER, Z_PK FROM ZUSER ORDER BY Z_PK")
        var keys: [Value: Value] = [:]
        var heirs: [Value: Value] = [:]
        for row in rows {
            if row[0] == .null, !nilIsEqual { continue }
            keys[row[0]] = keys[row[0]] ?? row[7]
            heirs[row[7]] = keys[row[0]]
        }
        var first: [Value: [Value]] = [:]
        var losses: [String: Int] = [:]
        var users = 0
        for var row in rows {
            let key = row[0]
            row[6] = heirs[row[6]] ?? row[6]
            guard key != .null || nilIsEqual, var kept = first[key] else {
                users += 1
                first[key] = row
                continue
            }
            for (place, name) in Self.properties.enumerated() {
                let (value, old) = (row[place + 1], kept[place + 1])
                if value == .null || value == old { continue }
                // The first link stays.
                if place > 2, old == .null { kept[place + 1] = value } else { losses[name, default: 0] += 1 }
            }
            first[key] = kept
        }
        return (losses, users)
    }

    private func writeRows(seed: UInt64) throws {
        var numbers = SplitMix(seed: seed)
        func below(_ end: Int) -> Int { Int(numbers.next() % UInt64(end)) }
        let connection = try Connection(path: app.folder.file("App.sqlite"), mode: .readWrite)
        let share = below(5) * 20 + 5
        try connection.execute("UPDATE ZPROFILE SET ZUSER = NULL")
        for key in 1...60 {
            func some(_ text: String) -> String { below(4) == 0 ? "NULL" : text }
            let profile = below(3) == 0 ? key : nil
            try connection.execute(
                """
                UPDATE ZUSER SET ZCODE = \(some("'c\(below(share))'")), ZNAME = \(some("'n\(below(3))'")),
                    ZAGE = \(some("\(below(2))")), ZPHOTO = \(some("x'0\(below(3))'")),
                    ZGROUP = \(some("\(1 + below(3))")), ZINVITER = \(some("\(1 + below(60))")),
                    ZPROFILE = \(profile.map { "\($0)" } ?? "NULL")
                WHERE Z_PK = \(key)
                """)
            if let profile { try connection.execute("UPDATE ZPROFILE SET ZUSER = \(key) WHERE Z_PK = \(profile)") }
        }
    }

    @Test("are counted by plan and report, and refused, for random rows", arguments: 1...6, [false, true])
    func random(seed: Int, nilIsEqual: Bool) throws {
        try writeRows(seed: UInt64(seed))
        try write(nilIsEqual ? ", \"nilIsEqual\": true" : "")
        var (losses, users) = try expected(nilIsEqual: nilIsEqual)
        let words = ["App.sqlite", "--models", "App.xcdatamodeld", "--mappings", "m.json"]
        let planned = try app.run(["plan"] + words + ["--check"])
        for name in Self.properties where !Self.links.contains(name) {
            let count = losses[name] ?? 0
            let text = "User.\(name), \(count) \(count == 1 ? "value" : "values")"
            #expect(planned.output.contains(text) == (count > 0), "\(text): \(planned.output)")
            #expect(planned.output.contains("User.\(name),") == (count > 0), "\(planned.output)")
        }
        for name in Self.links {
            let told = try told("User.\(name)", in: words)
            #expect(told >= losses[name] ?? 0, "User.\(name): \(told)")
            if told > 0 { losses[name] = told }
        }
        if !losses.isEmpty { #expect(try app.run(["migrate"] + words).exitCode == 2) }
        let lost = losses.keys.sorted().flatMap { ["--lose", "User.\($0)"] }
        let done = try app.run(["migrate"] + words + lost)
        #expect(done.exitCode == 0, "\(done)")
        #expect(try app.count("SELECT count(*) FROM ZUSER") == Int64(users))
    }

    private func told(_ name: String, in words: [String]) throws -> Int {
        let plan = try app.run(["plan"] + words + ["--check", "--json"])
        let losses = try PlannedLoss.all(in: plan.output).filter { $0.name == name }
        #expect(losses.allSatisfy { $0.atMost == true } && losses.count < 2, "\(plan)")
        return Int(losses.first?.rows ?? 0)
    }

    @Test("are of unknown number where only the run knows what merges, and no loss if it merged nothing")
    func unknown() throws {
        try app.execute("UPDATE ZUSER SET ZCODE = 'c' || Z_PK")
        try write(", \"where\": \"code != nil\"")
        let words = ["App.sqlite", "--models", "App.xcdatamodeld", "--mappings", "m.json"]
        let planned = try app.run(["plan"] + words + ["--check"])
        #expect(planned.output.contains("User.name, ≤ "), "\(planned.output)")
        let done = try app.run(["migrate"] + words + ["--json", "--accept-loss"])
        #expect(done.exitCode == 0 && done.output.contains("\"losses\": []"), "\(done)")
    }

    @Test("are told where find-or-create takes them from objects that nothing else carries them from")
    func foundByName() throws {
        try app.model(
            "App", "V2", RouteFolder.entity("Photo", "name", "photo:Binary") + RouteFolder.entity("User", "code"))
        try app.execute(
            "UPDATE ZUSER SET ZNAME = 'n' || (Z_PK % 2), ZPHOTO = CASE WHEN Z_PK < 4 THEN CAST(Z_PK AS BLOB) END")
        try app.write(
            """
            { "source": "V1", "destination": "V2", "entityMappings": [
                { "source": "User", "destination": "User" },
                { "source": "User", "destination": "Photo", "unique": ["name"] } ] }
            """, to: "m.json")
        let planned = try app.run(
            "plan", "App.sqlite", "--models", "App.xcdatamodeld", "--mappings", "m.json", "--check")
        let lost = planned.output.split(separator: "\n").map { line in
            line.split(separator: " ").prefix(3).joined(separator: " ")
        }
        #expect(lost.contains("User photo 1"), "\(planned.output)")
        #expect(!lost.contains { $0.hasPrefix("User name") || $0.hasPrefix("User code") }, "\(planned.output)")
    }
}
