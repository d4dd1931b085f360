internal import FerryModel

/// A keyed archive of one text, as a transformable attribute without a transformer of its own would hold it.
enum ArchivedText {
    static func bytes(_ text: String) -> [UInt8] {
        PropertyTree.dictionary([
            "$archiver": .string("NSKeyedArchiver"), "$version": .integer(100_000),
            "$objects": .array([.string("$null"), .string(text)]), "$top": .dictionary(["root": .uid(1)]),
        ]).binary
    }
}
