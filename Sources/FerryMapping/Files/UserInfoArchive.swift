internal import FerryBase
internal import FerryModel
internal import Foundation

/// The user info of an entity mapping: an archived dictionary from text to text.
struct UserInfoArchive {
    /// - Throws: `.badArchive` when the bytes are no archived dictionary. Values that are no texts are left out.
    static func decode(_ bytes: [UInt8]) throws(FerryError) -> [String: String] {
        try decode(try KeyedArchive(bytes).root)
    }

    static func decode(_ object: ArchivedObject) throws(FerryError) -> [String: String] {
        guard let entries = try object.entriesByText else {
            throw FerryError(.badArchive, "The user info is no dictionary.")
        }
        var userInfo: [String: String] = [:]
        for (key, value) in entries {
            if let text = try value.text { userInfo[key] = text }
        }
        return userInfo
    }
}

/// The bytes of a Base64 text with line breaks in it; nil when it is none.
func base64Bytes(_ text: String) -> [UInt8]? {
    Data(base64Encoded: text, options: .ignoreUnknownCharacters).map { [UInt8]($0) }
}
