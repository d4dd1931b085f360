/// A small, fast generator whose numbers depend on its seed alone (SplitMix64).
///
/// Each row and each link has a generator with a seed of its own, so no number depends on the order of the work.
package struct SeededRandom: RandomNumberGenerator, Sendable {
    private var state: UInt64

    package init(_ seed: UInt64) { state = seed }

    /// A generator for one of many objects, such as a row of a table.
    package init(seed: UInt64, _ stream: UInt64, _ number: Int64) {
        state = SeededRandom.mix(seed ^ SeededRandom.mix(stream ^ SeededRandom.mix(UInt64(bitPattern: number))))
    }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        return SeededRandom.mix(state)
    }

    /// A number from 0 to `bound` − 1.
    package mutating func below(_ bound: Int64) -> Int64 {
        precondition(bound > 0, "A range of numbers is not empty.")
        return Int64(next().multipliedFullWidth(by: UInt64(bound)).high)
    }

    /// A number from 0 up to, but not including, 1.
    package mutating func fraction() -> Double { Double(next() >> 11) * 0x1p-53 }

    /// The bytes of a UUID of version 4.
    mutating func uuid() -> [UInt8] {
        var bytes = withUnsafeBytes(of: (next().littleEndian, next().littleEndian)) { Array($0) }
        bytes[6] = bytes[6] & 0x0F | 0x40
        bytes[8] = bytes[8] & 0x3F | 0x80
        return bytes
    }

    private static func mix(_ value: UInt64) -> UInt64 {
        var mixed = value
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

extension String {
    /// A hash of the name (FNV-1a), equal in every process.
    package var stream: UInt64 {
        utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    }
}
