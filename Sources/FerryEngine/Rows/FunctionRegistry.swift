internal import FerryBase
package import FerryExpression
internal import FerryPlan
package import FerrySQLite
internal import FerryStore

/// Registers the SQL functions of the expression language.
package enum FunctionRegistry {
    package static func register(on connection: Connection) throws(DatabaseError) {
        let memory = CallMemory()
        for function in ScalarFunction.all {
            try connection.register(function.name, arguments: function.argumentCount, deterministic: true) {
                arguments, result in try memory.call(function, arguments, &result)
            }
        }
        try connection.register(BoundComputation.function, arguments: -1, deterministic: true) { arguments, result in
            guard let evaluator = arguments.object(0, as: RowEvaluator.self) else {
                throw FerryError(.internalError, "\(BoundComputation.function) is called without an evaluator.")
            }
            try memory.call(evaluator, arguments, &result)
        }
        for function in AggregateFunction.byOperator.values {
            let count: Int = function.isOfSorted ? 2 : 1
            try connection.register(aggregate: function.name, arguments: count) { AggregateCall(function, memory) }
        }
        try connection.register(
            table: JSONElementTable.function, columns: JSONElements.columns, argumentCount: JSONElements.argumentCount
        ) { [unowned connection] in JSONElements(on: connection) }
    }
}

/// What computes a value from arguments.
private protocol Callable {
    func call(_ arguments: ScalarFunction.Arguments, result: inout FerryExpression.FunctionResult) throws(FerryError)
}

extension ScalarFunction: Callable {}
extension RowEvaluator: Callable {}

/// Memory that all functions of a connection share: no call begins during another one.
///
/// Pointers avoid Swift's exclusivity check for each access, which took longer than the functions.
private final class CallMemory {
    private let result: UnsafeMutablePointer<FerryExpression.FunctionResult>
    let values: UnsafeMutablePointer<FunctionValue>

    private static let mostArguments = 127

    init() {
        result = .allocate(capacity: 1)
        result.initialize(to: .init())
        values = .allocate(capacity: Self.mostArguments)
        values.initialize(repeating: .null, count: Self.mostArguments)
    }

    deinit {
        result.deinitialize(count: 1)
        result.deallocate()
        values.deallocate()
    }

    func call(
        _ function: some Callable, _ arguments: borrowing FunctionArguments,
        _ sqlResult: inout FerrySQLite.FunctionResult
    ) throws {
        arguments.read(into: values)
        try function.call(UnsafeBufferPointer(start: values, count: arguments.count), result: &result.pointee)
        if case .argument(let index) = result.pointee.value {
            sqlResult.pass(argument: index, of: arguments)
        } else {
            sqlResult.set(result)
            // SQLite has copied a large value; two copies would stay for as long as the statement.
            result.pointee.releaseLargeBuffer()
        }
    }
}

private final class AggregateCall: SQLAggregate {
    private let accumulator: any Accumulator
    private let memory: CallMemory

    init(_ function: AggregateFunction, _ memory: CallMemory) {
        accumulator = function.make()
        self.memory = memory
    }

    func step(_ arguments: borrowing FunctionArguments) throws {
        arguments.read(into: memory.values)
        // A function of sorted values gets their number.
        let count: Int64 = if arguments.count > 1, case .integer(let number) = memory.values[1] { number } else { 0 }
        try accumulator.add(memory.values[0], of: count)
    }

    func finish(_ result: inout FerrySQLite.FunctionResult) throws {
        var value = FerryExpression.FunctionResult()
        accumulator.finish(&value)
        withUnsafePointer(to: value) { result.set($0) }
    }
}

extension FerrySQLite.FunctionResult {
    /// Sets a result that is not an argument; the pointer avoids a retain and release of the result for each call.
    mutating func set(_ result: UnsafePointer<FerryExpression.FunctionResult>) {
        switch result.pointee.value {
        case .null: setNull()
        case .integer(let integer): set(integer)
        case .real(let real): set(real)
        case .text: result.pointee.bytes.withUnsafeBytes { setText($0) }
        case .blob: result.pointee.bytes.withUnsafeBytes { setBlob($0) }
        case .borrowedText(let bytes): setText(bytes)
        case .argument: preconditionFailure("only the caller has the arguments")
        }
    }
}

/// The SQL function that reads the contents of external-storage values, for attributes that store them in rows.
struct ExternalContents: Sendable {
    let folder: String
    /// Whether a value with a missing file becomes NULL instead of an error.
    var dropsMissing = false
    var limit = 1_000_000_000

    func register(on connection: Connection) throws(DatabaseError) {
        try connection.register(ScalarFunction.fromExternalName, arguments: 1, deterministic: false) {
            [self] arguments, result in
            guard arguments.storageClass(0) == .blob else {
                if arguments.storageClass(0) != .null { throw Self.damaged("has a value that is not binary data") }
                return result.setNull()
            }
            try arguments.withBytes(0) { bytes in
                if bytes.first == 1 { return result.setBlob(UnsafeRawBufferPointer(rebasing: bytes.dropFirst())) }
                guard let name = ExternalData.fileName(in: bytes) else {
                    throw Self.isNeitherContentsNorName
                }
                guard let contents = try contents(name) else { return result.setNull() }
                contents.withUnsafeBytes { result.setBlob($0) }
            }
        }
    }

    private func contents(_ name: String) throws -> [UInt8]? {
        let (path, files) = (folder + "/" + name, FileLayer())
        guard try files.exists(path) else {
            if dropsMissing { return nil }
            throw Self.damaged("names a file that is not in \(folder)")
        }
        return try files.read(path, limit: limit)
    }

    static var isNeitherContentsNorName: FerryError {
        damaged("has a value that neither contains its data nor names a file")
    }

    private static func damaged(_ problem: String) -> FerryError {
        FerryError(
            .rowFailed, "An attribute with external storage \(problem).",
            remedy: "Restore the store together with its _SUPPORT folder, or give the attribute another value.")
    }
}

/// The table-valued function that gives the elements of a JSON array:
/// `ferry_json_each(text, key, skips invalid, paths, row, table, column)`.
///
/// Each row has the element's `ordinal` from 0, its `json` text, and the values at the ends of the paths. A text that
/// is no JSON array fails the statement; if invalid texts are skipped, its row has no ordinal, and is counted.
///
/// With a row, the text is the value of a source column there, and a long one is read in pieces.
final class JSONElements: TableCursor {
    static let columns = ["ordinal", "json"] + JSONElementTable.memberColumns
    static let argumentCount = 7
    /// The longest stored text that is read at once.
    private static let longestPiece = 1 << 16

    private unowned let connection: Connection
    /// A copy of the scanned text: SQLite's own is valid only during the start of a scan.
    private var text: UnsafeMutableRawBufferPointer
    private var stored: StoredText?
    private var scanner: JSONArrayScanner?
    private var element: JSONArrayScanner.Element?
    private var isSkipped = false
    /// The last paths argument, and the decoded paths.
    private var encodedPaths: [UInt8] = []
    private var paths: [[[UInt8]]] = []
    private var value = FerryExpression.FunctionResult()

    init(on connection: Connection) {
        self.connection = connection
        text = .allocate(byteCount: 0, alignment: 1)
    }

    deinit { text.deallocate() }

    func start(_ arguments: borrowing FunctionArguments) throws {
        scanner = nil
        element = nil
        isSkipped = false
        let isStored = !arguments.isNull(4)
        guard isStored || !arguments.isNull(0) else { return }
        arguments.withBytes(3) { bytes in
            if bytes.elementsEqual(encodedPaths) { return }
            encodedPaths = Array(bytes)
            paths = Self.decode(bytes)
        }
        do {
            scanner = try isStored ? storedScanner(arguments) : passedScanner(arguments)
        } catch let error as FerryError {
            guard arguments.integer(2) != 0 else { throw error }
            isSkipped = true
        }
    }

    private func passedScanner(_ arguments: borrowing FunctionArguments) throws -> JSONArrayScanner {
        let document = arguments.withBytes(0) { bytes in
            let buffer = buffer(of: bytes.count)
            buffer.copyMemory(from: bytes)
            return UnsafeRawBufferPointer(buffer)
        }
        return try arguments.withBytes(1) { try JSONArrayScanner(document, key: $0) }
    }

    private func storedScanner(_ arguments: borrowing FunctionArguments) throws -> JSONArrayScanner {
        let row = arguments.integer(4)
        if let stored {
            try stored.move(to: row)
        } else {
            let names = [5, 6].map { index in arguments.withBytes(index) { String(decoding: $0, as: UTF8.self) } }
            stored = StoredText(
                try BlobHandle(names[1], of: names[0], row: row, schema: "source", on: connection))
        }
        guard let stored else { preconditionFailure("the text was opened") }
        if stored.count > Self.longestPiece {
            return try arguments.withBytes(1) { try JSONArrayScanner(stored, key: $0) }
        }
        let buffer = buffer(of: stored.count)
        try stored.read(into: buffer, at: 0)
        return try arguments.withBytes(1) { try JSONArrayScanner(UnsafeRawBufferPointer(buffer), key: $0) }
    }

    private func buffer(of count: Int) -> UnsafeMutableRawBufferPointer {
        if count > text.count {
            text.deallocate()
            text = .allocate(byteCount: count, alignment: 1)
        }
        return UnsafeMutableRawBufferPointer(rebasing: text[..<count])
    }

    func next() throws -> Bool {
        if isSkipped {
            isSkipped = false
            element = nil
            return true
        }
        element = try scanner?.next()
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

/// A text of a source column, read in pieces.
package final class StoredText: JSONText {
    private var handle: BlobHandle

    package init(_ handle: consuming BlobHandle) { self.handle = handle }

    func move(to row: Int64) throws(DatabaseError) { try handle.reopen(row: row) }

    package var count: Int { handle.count }

    package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws {
        try handle.read(into: buffer, at: offset)
    }
}
