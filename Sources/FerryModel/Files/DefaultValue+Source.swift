internal import Foundation

extension DefaultValue {
    /// The default that a source file writes as text.
    ///
    /// Numbers are read as the model compiler does: the leading number of the text, else zero. Binary and transformable
    /// attributes have no default in a source file. A date's is the interval (`defaultDateTimeInterval`, seconds since
    /// 2001); the text beside it is for the editor only.
    init?(type: AttributeType, text: String?, interval: Double?) {
        if type == .date {
            guard let interval else { return nil }
            self = .real(interval)
            return
        }
        guard let text else { return nil }
        switch type {
        case .string: self = .text(text)
        case .uri:
            if text.isEmpty { return nil }
            self = .text(text)
        case .boolean:
            if text.isEmpty { return nil }
            self = .integer((text as NSString).boolValue ? 1 : 0)
        case .integer16, .integer32, .integer64:
            if text.isEmpty { return nil }
            // "YES" occurs where an attribute was a Boolean once.
            self = .integer(text == "YES" ? 1 : (text as NSString).longLongValue)
        case .decimal, .double:
            if text.isEmpty { return nil }
            self = .real((text as NSString).doubleValue)
        case .float:
            if text.isEmpty { return nil }
            self = .real(Double(Float((text as NSString).doubleValue)))
        case .uuid:
            guard let uuid = UUID(uuidString: text)?.uuid else { return nil }
            self = .blob(withUnsafeBytes(of: uuid) { Array($0) })
        case .date, .binary, .transformable, .undefined, .objectID, .composite: return nil
        }
    }
}
