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

    @Test("The table holds its added objects, in the order of the hashes, after it was emptied", arguments: [8, 12])
    func random(bits: Int) {
        var random = SmallRandom("known objects \(bits)")
        let known = ObjectHashTable(bits: bits)
        var model: [UInt64: Int64] = [:]
        var emptied = 0
        for key in 1...Int64(known.capacity * 5) {
            // A third of the hashes collide in one region.
            let first = random.below(3) == 0 ? UInt64(random.below(1 << 20)) : random.next()
            guard known.key(of: hash(first)) == nil else { continue }
            if !known.add(key, with: hash(first)) {
                for (first, key) in model { #expect(known.key(of: hash(first)) == key) }
                known.removeAll()
                #expect(known.key(of: hash(model.keys.first ?? 0)) == nil && known.count == 0)
                emptied += 1
                model = [:]
                #expect(known.add(key, with: hash(first)))
            }
            model[first] = key
        }
        #expect(known.count == model.count && emptied > 1)
        for (first, key) in model { #expect(known.key(of: hash(first)) == key) }
        let half = model.values.sorted()[model.count / 2]
        var place = 0
        var order: [UInt64] = []
        while let object = known.next(from: &place, above: half) {
            #expect(object.key > half && model[object.hash.first] == object.key)
            order.append(object.hash.first)
        }
        #expect(order == model.filter { $0.value > half }.keys.sorted())
    }
}
