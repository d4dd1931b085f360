import FerrySQLite
import Foundation
import Testing

/// Hides half of the cells of a table's first leaf.
func hideRows(of table: String, in store: String) throws {
    var page: Int64
    let size: Int64
    do {
        let connection = try Connection(path: store, mode: .readWrite)
        _ = try connection.checkpoint("TRUNCATE")
        let root = try connection.integer("SELECT rootpage FROM sqlite_master WHERE name = ?", [.text(table)])
        page = try #require(root)
        size = try #require(try connection.pragma("page_size")?.integer)
    }
    let file = try FileHandle(forUpdating: URL(fileURLWithPath: store))
    func bytes(_ count: Int, at place: Int64) throws -> [UInt8] {
        try file.seek(toOffset: UInt64((page - 1) * size + place))
        return Array(try #require(try file.read(upToCount: count)))
    }
    // Down to the first leaf: an interior page begins with 5, and its first cell with the child's number.
    while try bytes(1, at: 0) == [5] {
        let cell = try bytes(2, at: 12)
        let child = try bytes(4, at: Int64(cell[0]) << 8 | Int64(cell[1]))
        page = child.reduce(0) { $0 << 8 | Int64($1) }
    }
    #expect(try bytes(1, at: 0) == [13])
    let count = try bytes(2, at: 3)
    let half = (Int(count[0]) << 8 | Int(count[1])) / 2
    try #require(half > 2)
    try file.seek(toOffset: UInt64((page - 1) * size + 3))
    try file.write(contentsOf: [UInt8(half >> 8), UInt8(half & 255)])
    try file.close()
}
