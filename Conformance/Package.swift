// swift-tools-version: 6.1
import PackageDescription

// Apart from the package of Ferry: it calls the program, and links nothing of it.
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
