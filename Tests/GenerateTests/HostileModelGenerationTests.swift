import FerryBase
import FerryGenerate
import FerryModel
import FerrySQLite
import FerryStore
import TestSupport
import Testing

/// Counts in a model that no store can satisfy.
@Suite("Generating for hostile models")
struct HostileModelGenerationTests {
    private func generate(_ entities: String) throws -> Int64 {
        let model = try SourceModel.read(Array("<model>\(entities)</model>".utf8), path: "contents")
        let folder = try TemporaryFolder()
        let version = ModelVersion(of: model)
        _ = try StoreGenerator(version, options: GenerationOptions(rows: 3)).generate(
            at: folder.file("Store.sqlite"), files: FileLayer())
        let connection = try Connection(path: folder.file("Store.sqlite"), mode: .readOnly)
        return try connection.integer("SELECT count(*) FROM ZA") ?? 0
    }

    @Test(
        "Minimum and maximum counts of any size are used as far as a value's range allows",
        arguments: ["Integer 16", "Integer 64", "Double", "Decimal", "Date", "String", "Float"])
    func ranges(_ type: String) throws {
        for (least, most) in [
            ("-1e308", "1e308"), ("1e308", "-1e308"), ("nan", "nan"), ("inf", "-inf"), ("9223372036854775807", ""),
            ("", "-9223372036854775808"), ("", "-5"), ("0.1", "0.2"),
        ] {
            let (low, high) =
                type == "Date" ? ("minDateTimeInterval", "maxDateTimeInterval") : ("minValueString", "maxValueString")
            let attribute = "<attribute name=\"a\" attributeType=\"\(type)\" \(low)=\"\(least)\" \(high)=\"\(most)\"/>"
            #expect(try generate("<entity name=\"A\">\(attribute)</entity>") == 3, "\(least) \(most)")
        }
    }

    @Test("A relationship that requires more objects than there are keys is refused", arguments: [Int.max, 1 << 60])
    func counts(_ count: Int) throws {
        let entities = """
            <entity name="A"><relationship name="b" toMany="YES" minCount="\(count)" destinationEntity="B" inverseName="a"
            inverseEntity="B"/></entity><entity name="B"><relationship name="a" maxCount="1" destinationEntity="A"
            inverseName="b" inverseEntity="A"/></entity>
            """
        let error = #expect(throws: FerryError.self) { try generate(entities) }
        #expect(error?.code == .unsupported)
    }
}
