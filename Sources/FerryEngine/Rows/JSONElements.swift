internal import FerryBase
internal import FerryExpression
internal import FerrySQLite

/// The table-valued function that gives the elements of a JSON array:
/// `ferry_json_each(text, key, skips invalid, paths)`.
///
/// Each row has the element's `ordinal` from 0, its `json` text, and the values at the end of the paths. A text that is no JSON array fails the statement;
/// where invalid texts are skipped it gives one row without an ordinal, so that the object can be counted.
final class JSONElements: TableCursor {
    static let name = "ferry_json_each"
    /// Where the values at the ends of the paths are.
    static let memberColumns = (0..<8).map { "member\($0)" }
    static let columns = ["ordinal", "json"] + memberColumns
    static let argumentCount = 4

    /// The text under scan: kept here, because SQLite's own is only lent for the start of a scan.
    private var text: UnsafeMutableRawBufferPointer
    private var scanner: JSONArrayScanner?
    private var element: JSONArrayScanner.Element?
    private var isSkipped = false
    /// The paths as they were given last, and what they say.
    private var encodedPaths: [UInt8] = []
    private var paths: [[[UInt8]]] = []
    private var value = FerryExpression.FunctionResult()

    init() { text = .allocate(byteCount: 0, alignment: 1) }

    deinit { text.deallocate() }

    func start(_ arguments: borrowing FunctionArguments) throws {
        scanner = nil
        element = nil
        isSkipped = false
        guard !arguments.isNull(0) else { return }
        arguments.withBytes(3) { bytes in
            if bytes.elementsEqual(encodedPaths) { return }
            encodedPaths = Array(bytes)
            paths = Self.decode(bytes)
        }
        let count = arguments.withBytes(0) { bytes in
            if bytes.count > text.count {
                text.deallocate()
                text = .allocate(byteCount: bytes.count, alignment: 1)
            }
            text.copyBytes(from: bytes)
            return bytes.count
        }
        let document = UnsafeRawBufferPointer(rebasing: text[..<count])
        do {
            scanner = try arguments.withBytes(1) { try JSONArrayScanner(document, key: $0) }
        } catch {
            guard arguments.integer(2) != 0 else { throw error }
            isSkipped = true
        }
    }

    func next() throws -> Bool {
        if isSkipped {
            isSkipped = false
            element = nil
            return true
        }
        element = scanner?.next()
        return element != nil
    }

    func column(_ index: Int, _ result: inout FerrySQLite.FunctionResult) throws {
        guard let element else { return }
        switch index {
        case 0: result.set(element.index)
        case 1: result.setText(element.json)
        case let member:
            guard member - 2 < paths.count else { return }
            element.read(paths[member - 2], into: &value)
            withUnsafePointer(to: value) { result.set($0) }
        }
    }

    // MARK: Paths

    /// Paths of keys as an argument: their number, then for each the number of its keys, then for each key its length
    /// and its UTF-8.
    static func encode(_ paths: [[String]]) -> [UInt8] {
        var bytes = word(paths.count)
        for path in paths {
            bytes += word(path.count)
            for key in path { bytes += word(key.utf8.count) + key.utf8 }
        }
        return bytes
    }

    private static func word(_ count: Int) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: count >> ($0 * 8)) } }

    /// What ``encode(_:)`` gave.
    private static func decode(_ bytes: UnsafeRawBufferPointer) -> [[[UInt8]]] {
        var place = 0
        func count() -> Int {
            defer { place += 4 }
            return Int(UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: place, as: UInt32.self)))
        }
        return (0..<count()).map { _ in
            (0..<count()).map { _ in
                let length = count()
                defer { place += length }
                return Array(bytes[place..<(place + length)])
            }
        }
    }
}
