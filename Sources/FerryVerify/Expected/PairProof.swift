internal import FerrySQLite
internal import FerryStore

/// Shows without sorting that the pairs which a relation's rules yield are those that are stored.
///
/// Each side's pairs are summed up, whatever their order. A stored key has one row, so that equal sums also show that no
/// object has two candidates; only other pairs need the search, which names their places.
struct PairProof {
    let relation: StoredRelation
    /// The table of the pairs, with the side of the rule: 0 and 1, or 2 for a mirrored rule.
    let table: String
    let context: VerificationContext

    func holds() throws -> Bool {
        var sides = [PairSum](repeating: PairSum(), count: 3)
        let pairs = try context.connection.prepare("SELECT a, b, side FROM \(table)")
        while try pairs.step() {
            sides[Int(pairs.integer(2))].add(pairs.integer(0), pairs.integer(1))
            try context.advance(relation.key.property, done: 0, total: nil)
        }
        let links = relation.links
        let isKeyed = links.areInRowsOfA
        let stored = try sum(
            isKeyed ? "Z_PK" : links.a, links.b, in: links.table,
            where: isKeyed ? "\(links.b) IS NOT NULL" : "\(links.a) IS NOT NULL AND \(links.b) IS NOT NULL")
        if let other = relation.other {
            let inverse = try sum(
                other.links.b, "Z_PK", in: other.links.table, where: "\(other.links.b) IS NOT NULL")
            guard inverse == stored else { return false }
        }
        let own = sides[0...1].filter { $0.count > 0 }
        // Between keys of one side a mirrored rule adds nothing; between those of both sides it relates free objects.
        let mirrored = [sides[2]].filter { $0.count > 0 && (relation.other != nil || !isKeyed) }
        if own.isEmpty && (isKeyed || mirrored.isEmpty) { return mirrored.isEmpty && stored.count == 0 }
        return (own + mirrored).allSatisfy { $0 == stored }
    }

    private func sum(_ a: String, _ b: String, in table: String, where condition: String) throws -> PairSum {
        var sum = PairSum()
        let rows = try context.connection.prepare(
            "SELECT \(a), \(b) FROM destination.\(table) WHERE \(condition)")
        while try rows.step() {
            sum.add(rows.integer(0), rows.integer(1))
            try context.advance(relation.key.property, done: 0, total: nil)
        }
        return sum
    }
}

/// A sum over pairs in any order, keyed by numbers of this process: other pairs have another sum.
private struct PairSum: Equatable {
    private(set) var count: Int64 = 0
    private var first: UInt64 = 0
    private var second: UInt64 = 0

    private static let keys = (UInt64.random(in: 1 ... .max), UInt64.random(in: 1 ... .max))

    mutating func add(_ a: Int64, _ b: Int64) {
        count += 1
        let mixed = Self.mix(UInt64(bitPattern: a) ^ Self.keys.0)
        first &+= Self.mix(mixed ^ UInt64(bitPattern: b))
        second &+= Self.mix((mixed &+ Self.keys.1) ^ (UInt64(bitPattern: b) &* 0x9E37_79B9_7F4A_7C15))
    }

    /// The last step of SplitMix64, in which each bit changes all others.
    private static func mix(_ number: UInt64) -> UInt64 {
        var mixed = number
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
