// swift-tools-version: 6.1
import PackageDescription

// A package of its own: it calls the `ferry` program, and links nothing of Ferry.
let package = Package(
    name: "ferry-conformance",
    platforms: [.macOS(.v13)],
    targets: [
        .target(name: "ConformanceKit"),
        .executableTarget(name: "conformance", dependencies: ["ConformanceKit"]),
        .testTarget(name: "ConformanceKitTests", dependencies: ["ConformanceKit"]),
    ],
    swiftLanguageModes: [.v6]
)
