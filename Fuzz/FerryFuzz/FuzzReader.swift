/// A reader under test: its seeds, and the call that reads one input.
protocol FuzzReader {
    static var name: String { get }
    static var shape: Shape { get }

    /// Makes the seeds, from files of the fixtures and in code, and the other files of the reader in a folder of its
    /// own.
    init(folder: String, corpus: Corpus) throws

    /// Correct inputs.
    var seeds: [[UInt8]] { get }

    /// Reads one input; throws the reader's error for a bad input.
    func read(_ input: [UInt8]) throws

    /// Repairs the checksums of a changed input, because the reader would otherwise check nothing beyond them.
    func mended(_ input: [UInt8]) -> [UInt8]
}

extension FuzzReader {
    func mended(_ input: [UInt8]) -> [UInt8] { input }
}

enum FuzzReaders {
    static var all: [any FuzzReader.Type] {
        [
            SourceModelReader.self, BundleListReader.self, CompiledModelReader.self, PropertyListReader.self,
            KeyedArchiveReader.self, MappingXMLFileReader.self, CompiledMappingReader.self, JSONMappingReader.self,
            ExpressionReader.self, PatternReader.self, RowJSONReader.self, ManifestReader.self, ArchiveFileReader.self,
            RunRecordReader.self, RunLogReader.self, DatabaseReader.self, LogReader.self, ModelCacheReader.self,
        ]
    }

    static func named(_ name: String) -> (any FuzzReader.Type)? { all.first { $0.name == name } }
}
