internal import FerryBase
internal import FerryModel

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
