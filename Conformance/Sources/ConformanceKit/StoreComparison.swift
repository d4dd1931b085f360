/// Compares two stores whose objects have different keys.
///
/// The comparison puts objects into classes, first by entity and attributes, then repeatedly by the classes of their
/// related objects, until no class splits any more. The stores agree if every class has as many objects in both. (The
/// comparison cannot distinguish stores whose objects have equal values and equally shaped relationships throughout;
/// generated values differ.)
public struct StoreComparison: Sendable {
    public struct Difference: Sendable, Hashable, CustomStringConvertible {
        public var entity: String
        public var onlyInFirst: Int
        public var onlyInSecond: Int
        /// Attributes whose values differ in total; empty where only relationships differ.
        public var attributes: [String]

        public var description: String {
            let place = attributes.isEmpty ? "in their relationships" : "in \(attributes.joined(separator: ", "))"
            return
                "\(entity): \(onlyInFirst) objects have no counterpart, and \(onlyInSecond) are not there; they differ \(place)"
        }
    }

    public let differences: [Difference]

    public init(_ first: StoreRecord, _ second: StoreRecord) {
        let classes = Self.classes([first, second])
        let tallies = classes.map { classes in
            classes.reduce(into: [String: [Int: Int]]()) { $0[$1.key.entity, default: [:]][$1.value, default: 0] += 1 }
        }
        differences = Set(tallies.flatMap(\.keys)).sorted().compactMap { entity in
            let (left, right) = (tallies[0][entity] ?? [:], tallies[1][entity] ?? [:])
            func surplus(_ some: [Int: Int], over others: [Int: Int]) -> Int {
                some.reduce(0) { $0 + max(0, $1.value - (others[$1.key] ?? 0)) }
            }
            let (onlyLeft, onlyRight) = (surplus(left, over: right), surplus(right, over: left))
            guard onlyLeft > 0 || onlyRight > 0 else { return nil }
            return Difference(
                entity: entity, onlyInFirst: onlyLeft, onlyInSecond: onlyRight,
                attributes: Self.attributesThatDiffer(of: entity, first, second))
        }
    }

    private struct Content: Hashable {
        var entity: String
        var attributes: [String: PlainValue]
    }

    private struct Surroundings: Hashable {
        var own: Int
        var links: [String: [Int]]
    }

    /// Returns the class of every object; equal numbers mean equal objects, in one store and across both.
    private static func classes(_ stores: [StoreRecord]) -> [[ObjectReference: Int]] {
        var numbers: [Content: Int] = [:]
        var classes = stores.map { store in
            store.objects.reduce(into: [ObjectReference: Int]()) { classes, object in
                let content = Content(entity: object.key.entity, attributes: object.value.attributes)
                classes[object.key] = number(of: content, &numbers)
            }
        }
        var count = numbers.count
        while true {
            var finer: [Surroundings: Int] = [:]
            classes = zip(stores, classes).map { store, classes in
                store.objects.reduce(into: [ObjectReference: Int]()) { next, object in
                    let links = object.value.links.reduce(into: [String: [Int]]()) { links, link in
                        // A missing object is a class of its own.
                        let targets = link.value.map { classes[$0] ?? -1 }
                        links[link.key] =
                            object.value.orderedRelationships.contains(link.key) ? targets : targets.sorted()
                    }
                    let surroundings = Surroundings(own: classes[object.key] ?? -1, links: links)
                    next[object.key] = number(of: surroundings, &finer)
                }
            }
            if finer.count == count { return classes }
            count = finer.count
        }
    }

    private static func number<Key: Hashable>(of key: Key, _ numbers: inout [Key: Int]) -> Int {
        if let known = numbers[key] { return known }
        numbers[key] = numbers.count
        return numbers.count - 1
    }

    private static func attributesThatDiffer(
        of entity: String, _ first: StoreRecord, _ second: StoreRecord
    ) -> [String] {
        func values(_ store: StoreRecord) -> [String: [PlainValue: Int]] {
            store.objects.reduce(into: [:]) { tallies, object in
                guard object.key.entity == entity else { return }
                for (name, value) in object.value.attributes { tallies[name, default: [:]][value, default: 0] += 1 }
            }
        }
        let (left, right) = (values(first), values(second))
        return Set(left.keys).union(right.keys).filter { left[$0] != right[$0] }.sorted()
    }
}
