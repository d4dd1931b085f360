/// A value in memory that belongs to its lender: an argument of a function, a cell of a row.
package enum BorrowedValue {
    case null
    case integer(Int64)
    case real(Double)
    /// UTF-8, not terminated; may hold NUL.
    case text(UnsafeRawBufferPointer)
    case blob(UnsafeRawBufferPointer)
}
