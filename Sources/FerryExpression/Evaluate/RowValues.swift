package import FerryBase

/// Where a row has what a computation needs; asked while the computation is made ready.
package protocol PlaceResolver {
    /// The place of the column at the end of a path.
    mutating func place(of path: ResolvedPath) throws(FerryError) -> Int

    /// The place of the JSON text of the iteration's element.
    mutating func elementTextPlace() throws(FerryError) -> Int

    /// The place of what a collection comes to.
    mutating func place(of collection: CollectionComputation) throws(FerryError) -> Int
}

extension PlaceResolver {
    package mutating func place(of collection: CollectionComputation) throws(FerryError) -> Int {
        throw FerryError(.unsupported, "An expression reads a collection where there is but one row.")
    }
}

/// The values of one row, by the places that a ``RowEvaluator`` was told; borrowed until the row is left.
package protocol RowValues: AnyObject {
    func value(at place: Int) -> FunctionValue
}

/// The functions of a migration policy, as expressions call them.
package protocol PolicyFunctions: AnyObject {
    /// Calls a function of the policy.
    ///
    /// - Parameters:
    ///   - name: The selector or key that the expression names.
    ///   - arguments: Borrowed for the length of the call.
    /// - Returns: The value as a column would hold it.
    /// - Throws: What the policy throws.
    func call(_ name: String, _ arguments: [FunctionValue]) throws -> OwnedValue
}

/// A value with memory of its own.
package enum OwnedValue: Sendable, Hashable {
    case null
    case integer(Int64)
    case real(Double)
    case text([UInt8])
    case blob([UInt8])
}

/// Bytes that stay where they are from call to call.
final class ByteHolder {
    private var buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64, alignment: 8)

    deinit { buffer.deallocate() }

    /// Copies bytes here and lends them until the next call.
    func hold(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        if bytes.count > buffer.count {
            buffer.deallocate()
            buffer = .allocate(byteCount: max(bytes.count, 2 * buffer.count), alignment: 8)
        }
        buffer.copyMemory(from: bytes)
        return UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[..<bytes.count])
    }

    func hold(_ bytes: [UInt8]) -> UnsafeRawBufferPointer { bytes.withUnsafeBytes { hold($0) } }
}
