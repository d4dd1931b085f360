import FerryBase
import FerryModel
import Testing

/// Models that are encoded as archives.
@Suite("Encoded models")
struct ArchivedModelEncodingTests {
    private func model(_ attributes: [Attribute], indexes: [FetchIndex] = []) -> ManagedObjectModel {
        ManagedObjectModel(
            versionIdentifiers: [""], entities: [Entity(name: "E", attributes: attributes, fetchIndexes: indexes)])
    }

    private func reread(_ model: ManagedObjectModel) throws -> ManagedObjectModel {
        try ArchivedModel.decode(KeyedArchive(try ArchivedModel.encode(model)))
    }

    @Test("Equal models give equal bytes")
    func deterministic() throws {
        let attributes = ["b", "a", "c"].map { Attribute(name: $0, type: .string, userInfo: ["x": "1", "y": "2"]) }
        let bytes = try ArchivedModel.encode(model(attributes))
        #expect(try ArchivedModel.encode(model(attributes)) == bytes)
        #expect(bytes.starts(with: "bplist00".utf8))
    }

    @Test(
        "A written default value is read unchanged",
        arguments: [
            (AttributeType.decimal, DefaultValue.real(0)), (.decimal, .real(-12.5)), (.decimal, .real(1e21)),
            (.decimal, .real(1.25e-7)), (.decimal, .real(12_345_678_901_234.5)), (.double, .real(0.1)),
            (.float, .real(0.5)), (.integer64, .integer(.min)), (.integer16, .integer(200)), (.boolean, .integer(1)),
            (.boolean, .integer(0)), (.date, .real(-1.5)), (.string, .text("")), (.string, .text("größer 💡")),
            (.uri, .text("https://example.org/a")), (.uuid, .blob(Array(0..<16))), (.binary, .blob([0, 255])),
        ])
    func defaults(type: AttributeType, value: DefaultValue) throws {
        let read = try reread(model([Attribute(name: "a", type: type, defaultValue: value)]))
        #expect(read.attribute("a", of: "E")?.defaultValue == value)
    }

    @Test("A written derivation is read unchanged", arguments: ["x.@count", "x.y.@sum", "name", "x.name", "now()"])
    func derivations(_ text: String) throws {
        let derived = Attribute(name: "a", type: .integer64, isOptional: true, derivationExpression: text)
        let read = try reread(model([derived]))
        #expect(read.attribute("a", of: "E")?.derivationExpression == text)
        #expect(VersionHash.hashes(of: read) == VersionHash.hashes(of: model([derived])))
    }

    @Test("A value without a known archived form is refused")
    func refusals() throws {
        let name = Attribute(name: "a", type: .string)
        let models = [
            model([Attribute(name: "a", type: .string, derivationExpression: "a + 1")]),
            model([name], indexes: [FetchIndex(name: "i", elements: [.init(property: nil, expression: "self")])]),
            model(
                [name],
                indexes: [
                    FetchIndex(name: "i", elements: [.init(property: "a")], partialIndexPredicate: "a == nil")
                ]),
        ]
        for model in models {
            let error = #expect(throws: FerryError.self) { try ArchivedModel.encode(model) }
            #expect(error?.code == .unsupported)
        }
    }
}
