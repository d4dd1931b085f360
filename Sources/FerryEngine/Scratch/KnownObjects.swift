internal import FerryBase
package import FerrySQLite

/// Remembers, within a fixed size, which object has which values, so that what was looked up once is found again
/// without the lookup on disk.
///
/// It may forget at any time: a value that it does not know is looked up. Two values are taken for equal only when type
/// and bytes are, which is stricter than SQLite's own comparison and therefore safe.
package final class KnownObjects {
    /// Longer values are not remembered.
    private static let longestValue = 1 << 10
    /// What stands before a value in the arena: the key of its object and the length of the value.
    private static let header = 12

    /// The upper half of a value's hash above the end of its place in the arena; 0 when empty.
    private var slots: [UInt64]
    private let arena: UnsafeMutableRawBufferPointer
    private let value = UnsafeMutableRawBufferPointer.allocate(byteCount: longestValue, alignment: 8)
    private var used = 0
    private var count = 0

    /// - Parameter bytes: The size; a third of it or less are slots, as values of a few words need.
    package init(bytes: Int) {
        let wanted = max(bytes, 1 << 16)
        // A power of two, so that a hash finds its slot by a mask.
        let slotCount = 1 << (Int.bitWidth - 1 - (wanted / 24).leadingZeroBitCount)
        slots = [UInt64](repeating: 0, count: slotCount)
        arena = .allocate(byteCount: min(wanted - slotCount * 8, Int(UInt32.max) - 1), alignment: 8)
    }

    deinit {
        arena.deallocate()
        value.deallocate()
    }

    /// Makes both functions known to a connection: `find(values…)`, NULL when unknown, and `keep(key, values…)`.
    ///
    /// - Parameters:
    ///   - find: The name of the one that asks.
    ///   - keep: The name of the one that remembers.
    ///   - values: How many values there are.
    ///   - connection: Keeps this object alive.
    /// - Throws: ``DatabaseError`` when SQLite refuses a name.
    package func register(find: String, keep: String, values: Int, on connection: Connection) throws(DatabaseError) {
        try connection.register(find, arguments: values, deterministic: false) { [self] arguments, result in
            if let key = key(of: arguments) { result.set(key) }
        }
        try connection.register(keep, arguments: values + 1, deterministic: false) { [self] arguments, result in
            add(arguments)
            result.set(Int64(1))
        }
    }

    private func key(of arguments: borrowing FunctionArguments) -> Int64? {
        guard count > 0, let bytes = encode(arguments, from: 0) else { return nil }
        let slot = slots[place(of: bytes, hash: Self.hash(bytes))]
        return slot == 0 ? nil : arena.loadUnaligned(fromByteOffset: Self.start(slot), as: Int64.self)
    }

    private func add(_ arguments: borrowing FunctionArguments) {
        guard let bytes = encode(arguments, from: 1) else { return }
        let needed = Self.header + bytes.count
        // Three quarters: beyond, walks get long.
        if used + needed > arena.count || count >= slots.count / 4 * 3 { clear() }
        let hash = Self.hash(bytes)
        let place = place(of: bytes, hash: hash)
        guard slots[place] == 0 else { return }
        arena.storeBytes(of: arguments.integer(0), toByteOffset: used, as: Int64.self)
        arena.storeBytes(of: UInt32(bytes.count), toByteOffset: used + 8, as: UInt32.self)
        UnsafeMutableRawBufferPointer(rebasing: arena[(used + Self.header)...]).copyMemory(from: bytes)
        slots[place] = (hash >> 32) << 32 | UInt64(used + 1)
        used += needed
        count += 1
    }

    private func clear() {
        for index in slots.indices { slots[index] = 0 }
        (used, count) = (0, 0)
    }

    private static func start(_ slot: UInt64) -> Int { Int(slot & 0xFFFF_FFFF) - 1 }

    /// The slot that holds these bytes, else the empty one where they belong.
    private func place(of bytes: UnsafeRawBufferPointer, hash: UInt64) -> Int {
        var place = Int(truncatingIfNeeded: hash) & (slots.count - 1)
        while slots[place] != 0 {
            if slots[place] >> 32 == hash >> 32, holds(bytes, at: Self.start(slots[place])) { return place }
            place = (place + 1) & (slots.count - 1)
        }
        return place
    }

    private func holds(_ bytes: UnsafeRawBufferPointer, at start: Int) -> Bool {
        let count = Int(arena.loadUnaligned(fromByteOffset: start + 8, as: UInt32.self))
        guard count == bytes.count else { return false }
        let first = start + Self.header
        var index = 0
        while index + 8 <= count {
            let one = arena.loadUnaligned(fromByteOffset: first + index, as: UInt64.self)
            guard one == bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self) else { return false }
            index += 8
        }
        while index < count {
            guard arena[first + index] == bytes[index] else { return false }
            index += 1
        }
        return true
    }

    /// The values with their types, one after another; nil when they are too long to keep.
    private func encode(_ arguments: borrowing FunctionArguments, from first: Int) -> UnsafeRawBufferPointer? {
        var end = 0
        for index in first..<arguments.count {
            let type = arguments.storageClass(index)
            guard end + 16 <= value.count else { return nil }
            value[end] = UInt8(truncatingIfNeeded: type.rawValue)
            end += 1
            switch type {
            case .null: break
            case .integer:
                value.storeBytes(of: arguments.integer(index), toByteOffset: end, as: Int64.self)
                end += 8
            case .real:
                value.storeBytes(of: arguments.real(index).bitPattern, toByteOffset: end, as: UInt64.self)
                end += 8
            case .text, .blob:
                let start = end + 4
                let count = arguments.withBytes(index) { bytes in
                    if start + bytes.count <= value.count {
                        UnsafeMutableRawBufferPointer(rebasing: value[start...]).copyMemory(from: bytes)
                    }
                    return bytes.count
                }
                guard start + count <= value.count else { return nil }
                value.storeBytes(of: UInt32(count), toByteOffset: end, as: UInt32.self)
                end = start + count
            }
        }
        return UnsafeRawBufferPointer(rebasing: value[..<end])
    }

    /// Mixes eight bytes at a time; good enough to spread names over slots.
    private static func hash(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
        var hash: UInt64 = 0x9E37_79B9_7F4A_7C15 ^ UInt64(bytes.count)
        var index = 0
        while index + 8 <= bytes.count {
            hash = mix(hash ^ bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self))
            index += 8
        }
        var rest: UInt64 = 0
        while index < bytes.count {
            rest = rest << 8 | UInt64(bytes[index])
            index += 1
        }
        return mix(hash ^ rest)
    }

    private static func mix(_ value: UInt64) -> UInt64 {
        let product = value.multipliedFullWidth(by: 0xD6E8_FEB8_6659_FD93)
        return product.high ^ product.low
    }
}
