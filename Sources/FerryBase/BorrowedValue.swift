/// A value in somebody else's memory: an argument of a function, a cell of a row.
package enum BorrowedValue {
    case null
    case integer(Int64)
    case real(Double)
    /// UTF-8, not terminated; may hold NUL.
    case text(UnsafeRawBufferPointer)
    case blob(UnsafeRawBufferPointer)
}
