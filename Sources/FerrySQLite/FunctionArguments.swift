internal import CSQLite
package import FerryBase

/// The arguments of a call of a registered function, borrowed from SQLite without copies.
///
/// A read in another type than the storage class converts the argument in place, as SQLite does for columns.
package struct FunctionArguments: ~Copyable {
    private let values: UnsafeMutablePointer<OpaquePointer?>?
    package let count: Int

    init(_ count: Int32, _ values: UnsafeMutablePointer<OpaquePointer?>?) {
        self.count = Int(count)
        self.values = values
    }

    private func value(_ index: Int) -> OpaquePointer? {
        precondition(index >= 0 && index < count, "a function reads only the arguments that it was called with")
        return values![index]
    }

    package func storageClass(_ index: Int) -> StorageClass {
        StorageClass(rawValue: sqlite3_value_type(value(index))) ?? .null
    }

    /// Returns the storage class after numeric affinity, which converts the argument in place.
    package func numericStorageClass(_ index: Int) -> StorageClass {
        StorageClass(rawValue: sqlite3_value_numeric_type(value(index))) ?? .null
    }

    package func isNull(_ index: Int) -> Bool { sqlite3_value_type(value(index)) == SQLITE_NULL }
    package func integer(_ index: Int) -> Int64 { sqlite3_value_int64(value(index)) }
    package func real(_ index: Int) -> Double { sqlite3_value_double(value(index)) }

    /// Returns the object that the statement has bound; nil for any other argument.
    package func object<Object: AnyObject>(_ index: Int, as type: Object.Type) -> Object? {
        guard let pointer = sqlite3_value_pointer(value(index), BoundObject.type) else { return nil }
        return Unmanaged<AnyObject>.fromOpaque(pointer).takeUnretainedValue() as? Object
    }

    /// Calls the body with the bytes of a text or BLOB argument, which are valid only inside the body.
    package func withBytes<Result>(
        _ index: Int, _ body: (UnsafeRawBufferPointer) throws -> Result
    ) rethrows -> Result {
        try body(bytes(index))
    }

    /// Returns the bytes of a text or BLOB argument, valid until the function returns.
    private func bytes(_ index: Int) -> UnsafeRawBufferPointer {
        let value = value(index)
        // The pointer first: a read of the size first could convert the value twice.
        let pointer = sqlite3_value_blob(value)
        let count = Int(sqlite3_value_bytes(value))
        return UnsafeRawBufferPointer(start: pointer, count: pointer == nil ? 0 : count)
    }

    /// Writes all arguments without conversion to the target; they are valid until the function returns.
    ///
    /// One call for all, because a call may cost more than a read of an argument.
    package func read(into target: UnsafeMutablePointer<BorrowedValue>) {
        for index in 0..<count {
            let value = values![index]
            target[index] =
                switch sqlite3_value_type(value) {
                case SQLITE_INTEGER: .integer(sqlite3_value_int64(value))
                case SQLITE_FLOAT: .real(sqlite3_value_double(value))
                case SQLITE_TEXT: .text(bytes(index))
                case SQLITE_BLOB: .blob(bytes(index))
                default: .null
                }
        }
    }

    func pass(_ index: Int, to context: OpaquePointer?) { sqlite3_result_value(context, value(index)) }
}

/// The result of a registered function; NULL if the function sets none.
///
/// SQLite copies text and BLOBs, so the bytes need to live only during the setting call.
package struct FunctionResult: ~Copyable {
    private let context: OpaquePointer?

    init(_ context: OpaquePointer?) { self.context = context }

    package mutating func setNull() { sqlite3_result_null(context) }
    package mutating func set(_ value: Int64) { sqlite3_result_int64(context, value) }

    /// SQLite turns NaN into NULL.
    package mutating func set(_ value: Double) { sqlite3_result_double(context, value) }

    package mutating func setText(_ bytes: UnsafeRawBufferPointer) {
        // A null pointer would set NULL instead of an empty text.
        withUnsafeBytes(of: 0 as UInt8) { empty in
            let start = bytes.baseAddress ?? empty.baseAddress!
            sqlite3_result_text64(
                context, start.assumingMemoryBound(to: CChar.self), UInt64(bytes.count), ferry_sqlite3_transient(),
                UInt8(SQLITE_UTF8))
        }
    }

    package mutating func setBlob(_ bytes: UnsafeRawBufferPointer) {
        if bytes.isEmpty {
            sqlite3_result_zeroblob(context, 0)
        } else {
            sqlite3_result_blob64(context, bytes.baseAddress, UInt64(bytes.count), ferry_sqlite3_transient())
        }
    }

    package mutating func pass(argument index: Int, of arguments: borrowing FunctionArguments) {
        arguments.pass(index, to: context)
    }
}

/// Objects that statements bind for functions.
enum BoundObject {
    private static let name: StaticString = "ferry_object"

    /// The type of their pointers, by which SQLite keeps them from other functions.
    static var type: UnsafePointer<CChar> {
        UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self)
    }
}
