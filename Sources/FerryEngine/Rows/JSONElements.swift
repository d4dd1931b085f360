internal import FerryBase
internal import FerryExpression
internal import FerrySQLite

/// The table-valued function that gives the elements of a JSON array: `ferry_json_each(text, key, skips invalid)`.
///
/// Each row has the element's `ordinal` from 0 and its `json` text. A text that is no JSON array fails the statement;
/// where invalid texts are skipped it gives one row without an ordinal, so that the object can be counted.
final class JSONElements: TableCursor {
    static let name = "ferry_json_each"
    static let columns = ["ordinal", "json"]

    /// The text under scan: kept here, because SQLite's own is only lent for the start of a scan.
    private var text: UnsafeMutableRawBufferPointer
    private var scanner: JSONArrayScanner?
    private var element: JSONArrayScanner.Element?
    private var isSkipped = false

    init() { text = .allocate(byteCount: 0, alignment: 1) }

    deinit { text.deallocate() }

    func start(_ arguments: borrowing FunctionArguments) throws {
        scanner = nil
        element = nil
        isSkipped = false
        guard !arguments.isNull(0) else { return }
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
        default: result.setText(element.json)
        }
    }
}
