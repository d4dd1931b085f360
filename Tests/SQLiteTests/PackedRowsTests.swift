import FerrySQLite
import Testing

@Suite("Rows packed one behind another")
struct PackedRowsTests {
    @Test("Every value comes out as it went in, and is bound as it was")
    func values() throws {
        let connection = try Connection(path: ":memory:", mode: .create)
        let values: [Value] = [
            .null, .integer(.min), .integer(-1), .real(-0.0), .real(.infinity), .text(""), .text("a\u{0}🚢"), .blob([]),
            .blob([0, 1, 255]),
        ]
        let select = try connection.prepare("SELECT \(values.map { _ in "?" }.joined(separator: ", "))")
        try select.bind(values)
        let rows = PackedRows(cells: values.count, capacity: 1024)
        let columns = values.indices.map(Int32.init)
        for _ in 0..<3 {
            #expect(try select.step())
            #expect(rows.begin())
            #expect(rows.pack(columns, of: select))
            rows.finish(isTaken: true)
            select.reset()
        }
        var place = 0
        for _ in 0..<3 {
            let row = try #require(rows.row(at: place))
            #expect(values.indices.map { row.value($0) } == values)
            try select.bind(values.indices.map { CellBinding(cell: $0, parameter: $0 + 1) }, of: row)
            #expect(try select.step())
            #expect(values.indices.map { select.value($0) } == values)
            select.reset()
            place += row.size
        }
        #expect(rows.row(at: place) == nil)
    }

    @Test("A row that does not fit is refused whole, and one alone may grow")
    func bounds() throws {
        let connection = try Connection(path: ":memory:", mode: .create)
        let select = try connection.prepare("SELECT 7, zeroblob(900)")
        #expect(try select.step())
        let rows = PackedRows(cells: 2, capacity: 1024)
        #expect(rows.begin() && rows.pack([0, 1], of: select))
        rows.finish(isTaken: true)
        let end = try #require(rows.row(at: 0)).size
        #expect(!(rows.begin() && rows.pack([0, 1], of: select)))
        #expect(rows.row(at: end) == nil && rows.row(at: 0)?.value(1) == .blob([UInt8](repeating: 0, count: 900)))
        rows.removeAll()
        #expect(rows.isEmpty)
        let wide = try connection.prepare("SELECT 8, zeroblob(5000)")
        #expect(try wide.step())
        var growths = 0
        while !(rows.begin() && rows.pack([0, 1], of: wide)) {
            rows.grow()
            growths += 1
        }
        rows.finish(isTaken: false)
        #expect(growths == 3)
        #expect(rows.row(at: 0)?.isTaken == false && rows.row(at: 0)?.integer(0) == 8)
    }
}
