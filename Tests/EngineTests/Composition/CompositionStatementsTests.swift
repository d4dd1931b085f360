import FerryBase
import FerryModel
import FerryPlan
import FerrySQLite
import TestSupport
import Testing

@Suite("The statements of a composed chain in place")
struct CompositionStatementsTests {
    private func models(_ count: Int) -> [ManagedObjectModel] {
        (0...count).map { number in
            let added = (0..<number).map { index in
                Attribute(name: "extra\(index)", type: .integer32, defaultValue: .integer(Int64(index)))
            }
            // Half of the versions lack this attribute, so that the table must be rebuilt.
            let old: [Attribute] = number > count / 2 ? [] : [.text("old")]
            return ManagedObjectModel(.made("Book", [.text("title")] + old + added))
        }
    }

    /// Returns the statements that read or write rows of an entity's table.
    private func rowStatements(steps: Int, composes: Bool) throws -> [String] {
        let texts = Locked<[String]>([])
        let chain = try ComposedChain(
            models(steps),
            rows: [
                "INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZTITLE, ZOLD) VALUES (1, 1, 1, 'a', 'b')"
            ])
        #expect(try chain.plan(composes: composes).isInPlace)
        _ = try chain.run(.inPlace, composes: composes) { event in texts.withLock { $0.append(event.text) } }
        return texts.withLock { $0 }.filter { text in
            ["INSERT INTO ZBOOK", "UPDATE ZBOOK", "DELETE FROM ZBOOK"].contains { text.hasPrefix($0) }
        }
    }

    @Test("write each row once, for any number of steps")
    func once() throws {
        let few = try rowStatements(steps: 4, composes: true)
        let many = try rowStatements(steps: 24, composes: true)
        #expect(few.count == 1 && many.count == 1)
        #expect(try rowStatements(steps: 24, composes: false).count >= 24)
        try ComposedChain(
            models(8), rows: ["INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZTITLE) VALUES (1, 1, 1, 'a')"]
        ).compare()
    }
}
