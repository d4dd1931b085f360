internal import Foundation

/// The bytes of a Base64 text with line breaks in it; nil when it is none.
func base64Bytes(_ text: String) -> [UInt8]? {
    Data(base64Encoded: text, options: .ignoreUnknownCharacters).map { [UInt8]($0) }
}
