internal import Foundation

/// The program `ferry` that was built with the tests.
package enum BuiltProgram {
    /// The program's path, beside the test bundle; nil when the program is missing.
    package static var path: String? {
        let arguments = CommandLine.arguments
        let bundle = arguments.firstIndex(of: "--test-bundle-path").flatMap {
            $0 + 1 < arguments.count ? arguments[$0 + 1] : nil
        }
        var folder = URL(fileURLWithPath: bundle ?? arguments[0]).resolvingSymlinksInPath()
        while folder.path != "/" {
            folder.deleteLastPathComponent()
            let candidate = folder.appendingPathComponent("ferry")
            if FileManager.default.isExecutableFile(atPath: candidate.path), !isFolder(candidate) {
                return candidate.path
            }
        }
        return nil
    }

    private static func isFolder(_ url: URL) -> Bool {
        var isFolder: ObjCBool = false
        return FileManager.default.fileExists(atPath: url.path, isDirectory: &isFolder) && isFolder.boolValue
    }
}
