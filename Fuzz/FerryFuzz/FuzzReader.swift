/// A reader under test: what it reads, from what it starts, and how one input is given to it.
protocol FuzzReader {
    static var name: String { get }
    static var shape: Shape { get }

    /// Makes the seeds, from files of the fixtures and in code, and whatever else the reader needs in a folder of its own.
    init(folder: String, corpus: Corpus) throws

    /// Inputs that are what they should be.
    var seeds: [[UInt8]] { get }

    /// Reads one input; an error that is thrown is what should happen to a bad one.
    func read(_ input: [UInt8]) throws

    /// Makes what was changed hold together again where the reader would only look at a checksum.
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
