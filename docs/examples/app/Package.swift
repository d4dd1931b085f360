// swift-tools-version: 6.1
import PackageDescription

// An app of your own depends on Ferry by its URL, and has its models among its resources.
let package = Package(
    name: "Notes",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "ferry", path: "../../..")],
    targets: [
        .executableTarget(
            name: "Notes", dependencies: [.product(name: "Ferry", package: "ferry")],
            resources: [.copy("Resources/Notes.xcdatamodeld"), .copy("Resources/NoteToNote.json")])
    ]
)
