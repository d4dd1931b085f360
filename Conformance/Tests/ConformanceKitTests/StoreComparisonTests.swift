import ConformanceKit
import Testing

@Suite("Comparing stores with different keys")
struct StoreComparisonTests {
    /// Books with titles, each of an author with a name; keys begin at `first`, in reverse order on request.
    private static func library(
        _ books: [(title: String, author: String)], first: Int64 = 1, isReversed: Bool = false
    ) -> StoreRecord {
        var store = StoreRecord()
        var authors: [String: ObjectReference] = [:]
        for (place, book) in (isReversed ? books.reversed() : books).enumerated() {
            let key = first + Int64(place)
            let author = authors[book.author] ?? ObjectReference(entity: "Author", key: key)
            authors[book.author] = author
            let reference = ObjectReference(entity: "Book", key: key)
            store.objects[reference] = ObjectRecord(
                attributes: ["title": .text(book.title)], links: ["author": [author]])
            var record = store.objects[author] ?? ObjectRecord(attributes: ["name": .text(book.author)])
            record.links["books", default: []].append(reference)
            store.objects[author] = record
        }
        return store
    }

    private static let books = [("A", "x"), ("B", "x"), ("C", "y"), ("A", "y"), ("D", "z")]

    @Test("Stores with the same objects under other keys, in another order, agree")
    func agrees() {
        let other = Self.library(Self.books, first: 100, isReversed: true)
        #expect(StoreComparison(Self.library(Self.books), other).differences.isEmpty)
        #expect(Self.library(Self.books).danglingLinks.isEmpty)
    }

    @Test("A different value is reported with its attribute")
    func tellsValue() {
        var changed = Self.books
        changed[0].0 = "Z"
        let differences = StoreComparison(Self.library(Self.books), Self.library(changed)).differences
        let book = differences.first { $0.entity == "Book" }
        #expect(book?.attributes == ["title"] && book?.onlyInFirst == book?.onlyInSecond)
    }

    @Test("Objects with the same values and other relationships differ")
    func tellsRelationship() {
        var changed = Self.books
        (changed[1].1, changed[2].1) = ("y", "x")
        let differences = StoreComparison(Self.library(Self.books), Self.library(changed)).differences
        #expect(differences.contains { $0.entity == "Book" && $0.attributes.isEmpty })
    }

    @Test("A difference is found at any distance")
    func seesFar() {
        func chain(_ last: Int64) -> StoreRecord {
            var store = StoreRecord()
            for key in Int64(1)...20 {
                store.objects[ObjectReference(entity: "Link", key: key)] = ObjectRecord(
                    attributes: ["end": key == 20 ? .integer(last) : .null],
                    links: ["next": key == 20 ? [] : [ObjectReference(entity: "Link", key: key + 1)]])
            }
            return store
        }
        #expect(StoreComparison(chain(1), chain(1)).differences.isEmpty)
        // Every object of the chain leads to the object that differs.
        #expect(StoreComparison(chain(1), chain(2)).differences.first?.onlyInFirst == 20)
    }

    @Test("Order counts only in an ordered relationship", arguments: [true, false])
    func heedsOrder(_ isOrdered: Bool) {
        func list(_ keys: [Int64]) -> StoreRecord {
            var store = StoreRecord()
            for key in keys {
                store.objects[ObjectReference(entity: "Item", key: key)] = ObjectRecord(attributes: ["n": .integer(key)]
                )
            }
            store.objects[ObjectReference(entity: "List", key: 1)] = ObjectRecord(
                attributes: [:], links: ["items": keys.map { ObjectReference(entity: "Item", key: $0) }],
                orderedRelationships: isOrdered ? ["items"] : [])
            return store
        }
        #expect(StoreComparison(list([1, 2, 3]), list([3, 2, 1])).differences.isEmpty == !isOrdered)
    }

    @Test("Missing and duplicate objects are counted")
    func counts() {
        let (one, two) = (Self.library(Self.books), Self.library(Self.books + [("D", "z")]))
        let book = StoreComparison(one, two).differences.first { $0.entity == "Book" }
        #expect(book.map { $0.onlyInSecond - $0.onlyInFirst } == 1)
        #expect(StoreComparison(StoreRecord(), one).differences.map(\.entity) == ["Author", "Book"])
    }

    @Test("Relationships to missing objects are reported, and make a difference")
    func tellsDangling() {
        var store = Self.library(Self.books)
        store.objects[ObjectReference(entity: "Author", key: 1)] = nil
        #expect(!store.danglingLinks.isEmpty && store.danglingLinks.allSatisfy { $0 == "Book.author" })
        #expect(!StoreComparison(store, Self.library(Self.books)).differences.isEmpty)
    }

    @Test("NaN equals itself, and the two zeros differ")
    func comparesBits() {
        func store(_ value: Double) -> StoreRecord {
            StoreRecord(objects: [
                ObjectReference(entity: "A", key: 1): ObjectRecord(attributes: ["x": .real(value.bitPattern)])
            ])
        }
        #expect(StoreComparison(store(.nan), store(.nan)).differences.isEmpty)
        #expect(!StoreComparison(store(0.0), store(-0.0)).differences.isEmpty)
    }

    @Test("The URI of a saved object gives entity and key, that of an unsaved object nil")
    func readsURI() {
        #expect(ObjectReference(uri: "x-coredata://1A-2B/Book/p12") == ObjectReference(entity: "Book", key: 12))
        for uri in ["x-coredata:///Book/t12AB", "x-coredata://1A/Book/t3", "https://a/Book/p1", "x-coredata://1A/p12"] {
            #expect(ObjectReference(uri: uri) == nil, "\(uri)")
        }
    }
}
