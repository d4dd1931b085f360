import ConformanceKit
import Foundation

func coreData(in folder: URL) -> (any CoreDataSide)? {
    #if canImport(CoreData)
        return AppleCoreData(folder: folder)
    #else
        return nil
    #endif
}

do {
    let call = try ConformanceCall(Array(CommandLine.arguments.dropFirst()))
    exit(try call.run(coreData: coreData) { print($0) })
} catch {
    FileHandle.standardError.write(Data("conformance: \(error)\n".utf8))
    exit(2)
}
