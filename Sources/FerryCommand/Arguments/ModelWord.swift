internal import Ferry
internal import FerryBase

/// A value of `--models`: a path, or `NAME=STORE` for a store whose version gets a name.
struct ModelWord {
    let path: String
    /// Nil if the word is a path alone.
    let name: String?

    /// A file that exists may have the sign in its own name.
    init(_ word: String) throws(FerryError) {
        let parts = Self.split(word)
        guard let name = parts.name, try !FileLayer().exists(word) else {
            (path, self.name) = (word, nil)
            return
        }
        (path, self.name) = (parts.path, name)
    }

    /// The parts of a word, without a look at the files; a name has no slash.
    static func split(_ word: String) -> (name: String?, path: String) {
        guard let sign = word.firstIndex(of: "="), sign != word.startIndex, !word[..<sign].contains("/") else {
            return (nil, word)
        }
        let path = String(word[word.index(after: sign)...])
        return path.isEmpty ? (nil, word) : (String(word[..<sign]), path)
    }

    /// The word with another path.
    static func word<Failure: Error>(
        _ word: String, _ change: (String) throws(Failure) -> String
    ) throws(Failure) -> String {
        let parts = split(word)
        let path = try change(parts.path)
        return parts.name.map { "\($0)=\(path)" } ?? path
    }

    var source: ModelSource {
        name.map { .store(path.fileURL, named: $0) } ?? .url(path.fileURL)
    }

    static func sources(_ words: [String]) throws(FerryError) -> [ModelSource] {
        var sources: [ModelSource] = []
        for word in words { sources.append(try ModelWord(word).source) }
        return sources
    }
}

extension Arguments {
    var models: [ModelSource] { get throws(FerryError) { try ModelWord.sources(values("--models")) } }
}
