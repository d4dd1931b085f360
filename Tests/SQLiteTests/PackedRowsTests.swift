import FerrySQLite
import Testing

@Suite("Packed rows")
struct PackedRowsTests {
    @Test("Every value is read as written, and bound as before")
    func values() throws {
        let connection = try Connection(path: ":memory:", mode: .create)
        let values: [Value] = [
            .null, .integer(.min), .integer(-1), .real(-0.0), .real(.infinity), .text(""), .text("a\u{0}🚢"), .blob([]),
            .blob([0, 1, 255]),
        ]
        let select = try connection.prepare("SELECT \(values.map { _ in "?" }.joined(separator: ", "))")
        try select.bind(values)
        let rows = PackedRows(cells: values.count, capacity: 1024)
        for _ in 0..<3 {
            #expect(try select.step())
            #expect(rows.pack(select))
            select.reset()
        }
        var unread = rows.rows
        for _ in 0..<3 {
            let row = try #require(unread.first)
            unread.removeFirst()
            #expect(values.indices.map { row.value($0) } == values)
            try select.bind(values.indices.map { CellBinding(cell: $0, parameter: $0 + 1) }, of: row)
            #expect(try select.step())
            #expect(values.indices.map { select.value($0) } == values)
            select.reset()
        }
        #expect(unread.first == nil)
    }

    @Test("A parameter without a cell keeps its binding")
    func exceptions() throws {
        let connection = try Connection(path: ":memory:", mode: .create)
        let rows = PackedRows(cells: 1, capacity: 1024)
        let values = try connection.prepare("SELECT 1")
        #expect(try values.step())
        #expect(rows.pack(values))
        let row = try #require(rows.rows.first)
        let columns = (1...70).map { "?\($0)" }.joined(separator: ", ")
        let select = try connection.prepare("SELECT \(columns)")
        for parameter in 1...70 { try select.bind(Int64(7), at: parameter) }
        let bindings = [2, 3, 6, 63, 64, 70].map { CellBinding(cell: 0, parameter: $0) }
        try select.bind(bindings, of: row, except: 1 << 3 | 1 << 6 | 1 << 63)
        #expect(try select.step())
        let bound = [2, 64, 70]
        #expect((1...70).allSatisfy { select.integer($0 - 1) == (bound.contains($0) ? 1 : 7) })
    }

    @Test("A row that does not fit is refused as a whole, and a single row may grow")
    func bounds() throws {
        let connection = try Connection(path: ":memory:", mode: .create)
        let select = try connection.prepare("SELECT 7, zeroblob(900)")
        #expect(try select.step())
        let rows = PackedRows(cells: 2, capacity: 1024)
        #expect(rows.pack(select))
        #expect(!rows.pack(select))
        var unread = rows.rows
        #expect(unread.first?.value(1) == .blob([UInt8](repeating: 0, count: 900)))
        unread.removeFirst()
        #expect(unread.first == nil)
        rows.removeAll()
        #expect(rows.isEmpty)
        let wide = try connection.prepare("SELECT 8, zeroblob(5000)")
        #expect(try wide.step())
        var growths = 0
        while !rows.pack(wide) {
            rows.grow()
            growths += 1
        }
        #expect(growths == 3)
        #expect(rows.rows.first?.integer(0) == 8)
    }
}
