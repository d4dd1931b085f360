internal import Ferry
internal import FerryBase

/// A value of `--models`: a path, or `NAME=STORE` for a store whose version gets a name.
enum ModelWord {
    /// The parts of a word, without a look at the files; a name has no slash.
    static func split(_ word: String) -> (name: String?, path: String) {
        guard let sign = word.firstIndex(of: "="), sign != word.startIndex, !word[..<sign].contains("/") else {
            return (nil, word)
        }
        let path = String(word[word.index(after: sign)...])
        return path.isEmpty ? (nil, word) : (String(word[..<sign]), path)
    }

    static func word<Failure: Error>(
        _ word: String, _ change: (String) throws(Failure) -> String
    ) throws(Failure) -> String {
        let parts = split(word)
        let path = try change(parts.path)
        return parts.name.map { "\($0)=\(path)" } ?? path
    }

    private static func source(_ word: String) throws(FerryError) -> ModelSource {
        let parts = split(word)
        // A file that exists may have the sign in its own name.
        guard let name = parts.name, try !FileLayer().exists(word) else { return .url(word.fileURL) }
        return .store(parts.path.fileURL, named: name)
    }

    static func isModel(_ path: String) -> Bool {
        ["xcdatamodeld", "xcdatamodel", "momd", "mom"].contains(FileLayer.parts(of: path).extension)
    }

    static func sources(_ words: [String]) throws(FerryError) -> [ModelSource] { try words.map(source) }
}

extension Arguments {
    var models: [ModelSource] { get throws(FerryError) { try ModelWord.sources(values("--models")) } }
}
