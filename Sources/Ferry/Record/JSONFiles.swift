internal import FerryBase
internal import Foundation

extension FileLayer {
    /// The content of a JSON file; nil if there is none, or if it is torn or from another version of Ferry.
    func decoded<Content: Decodable>(_ type: Content.Type, at path: String) throws -> Content? {
        guard try exists(path) else { return nil }
        do {
            return try JSONDecoder().decode(type, from: Data(read(path)))
        } catch is DecodingError {
            return nil
        }
    }
}

extension JSONEncoder {
    /// A value as readable JSON, the form of the files beside a store; an error names the value by its title.
    static func bytes(of value: some Encodable, _ title: String) throws(FerryError) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
        do {
            return Array(try encoder.encode(value))
        } catch {
            throw FerryError(.internalError, "\(title) cannot be written as JSON.", cause: error)
        }
    }
}
