internal import FerryEngine
internal import Testing

@Suite("The table of known objects")
struct ObjectHashTableTests {
    private func hash(_ first: UInt64, _ second: UInt64 = 4) -> ObjectHashTable.Hash { .init((first, second)) }

    @Test("Hashes with one equal half differ by the other half")
    func halves() {
        let known = ObjectHashTable(bits: 8)
        #expect(known.add(1, with: hash(7, 4)))
        #expect(known.add(2, with: hash(7, 8)))
        #expect(known.add(3, with: hash(8, 4)))
        #expect(known.key(of: hash(7, 4)) == 1)
        #expect(known.key(of: hash(7, 8)) == 2)
        #expect(known.key(of: hash(8, 4)) == 3)
        #expect(known.key(of: hash(7, 12)) == nil)
        #expect(known.key(of: hash(6, 4)) == nil)
    }

    @Test(
        "The table holds its added objects, in the order of the hashes, after any clearings", arguments: [8, 12])
    func random(bits: Int) {
        var random = SmallRandom("known objects \(bits)")
        let known = ObjectHashTable(bits: bits)
        var model: [UInt64: Int64] = [:]
        var saved: Int64 = 0
        for key in 1...Int64(known.capacity * 5) {
            // A third of the hashes collide in one region.
            let first = random.below(3) == 0 ? UInt64(random.below(1 << 20)) : random.next()
            guard known.key(of: hash(first)) == nil else { continue }
            if !known.add(key, with: hash(first)) {
                saved = key - Int64(random.below(known.capacity / 3))
                known.makeRoom(keepingAbove: saved)
                for (first, key) in model where key > saved { #expect(known.key(of: hash(first)) == key) }
                model = model.filter { known.key(of: hash($0.key)) != nil }
                guard known.add(key, with: hash(first)) else { continue }
            }
            model[first] = key
        }
        #expect(known.count == model.count)
        for (first, key) in model { #expect(known.key(of: hash(first)) == key) }
        var place = 0
        var order: [UInt64] = []
        while let object = known.next(from: &place, above: saved) {
            #expect(object.key > saved && model[object.hash.first] == object.key)
            order.append(object.hash.first)
        }
        #expect(order == model.filter { $0.value > saved }.keys.sorted())
    }

    @Test("Recently found objects are kept, others are removed")
    func lately() {
        let known = ObjectHashTable(bits: 8)
        for key in 1...100 { #expect(known.add(Int64(key), with: hash(UInt64(key) << 56 | 1))) }
        for key in 1...30 { _ = known.key(of: hash(UInt64(key) << 56 | 1)) }
        known.makeRoom(keepingAbove: 90)
        let kept = (1...100).filter { known.key(of: hash(UInt64($0) << 56 | 1)) != nil }
        #expect(kept == Array(1...30) + Array(91...100))
        #expect(known.count == 40)
    }

    @Test("Half of the objects are removed where all were found recently")
    func half() {
        let known = ObjectHashTable(bits: 8)
        var random = SmallRandom("half")
        while known.add(1, with: hash(random.next())) {}
        var place = 0
        while let object = known.next(from: &place, above: 0) { _ = known.key(of: object.hash) }
        let before = known.count
        known.makeRoom(keepingAbove: 1)
        #expect(known.count <= before / 2 + 1 && known.count >= before / 2 - 1)
    }
}
